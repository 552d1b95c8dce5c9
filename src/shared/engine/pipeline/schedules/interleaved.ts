/**
 * Interleaved 1F1B: each rank holds vpp chunks of layers, so that the pipeline fills vpp times faster at the price of
 * vpp times the sends. Depth first, groups of g = pp micro-batches pass one chunk before the next; breadth first, all of
 * the step's do.
 *
 * Makespan = m·max_r t_r + (Σ_r t_r − max_r t_r)/v for t = forward + backward of all of a rank's chunks; for equal ranks
 * m·t + (p−1)·t/v, whatever g. In flight on rank r: (2(p−r−1) + (v−1)g + 1)/v, at most m. Sends beside compute delay the
 * fill and the drain only, 2(pv−1) of them, as long as one takes no longer than a chunk's forward.
 * Source: MODEL §6 and §3.6; Narayanan et al. SC'21 §2.2.2, Korthikanti et al. 2022 §4.2.3, Lamy-Poirier 2023 (breadth
 * first).
 */
import { interleavedOrder } from './interleaved-order.ts';
import {
  groupSizeOf,
  slowestSeconds,
  sumOfStages,
  type PipelineSeconds,
  type PipelineShape,
  type Schedule,
  type StageSeconds,
} from './types.ts';

function seconds(shape: PipelineShape, stage: StageSeconds): PipelineSeconds {
  const { pp, numMicroBatches: m, vpp } = shape;
  const slowest = slowestSeconds(stage);
  const fill = (sumOfStages(stage) - slowest) / vpp;
  const hops = 2 * (pp * vpp - 1) * stage.send;
  const exchanges = Math.max(0, 2 * (m - 1) * vpp) * stage.send;
  return { busy: m * slowest, bubble: fill, sends: hops + (stage.isSendHidden ? 0 : exchanges) };
}

function inFlight({ pp, numMicroBatches, vpp }: PipelineShape, groupSize: number, rankIndex: number): number {
  return Math.min(numMicroBatches, (2 * (pp - rankIndex - 1) + (vpp - 1) * groupSize + 1) / vpp);
}

export const interleaved: Schedule = {
  label: 'interleaved 1F1B',
  needs: { chunks: 'several', microBatchMultiple: groupSizeOf, leastGroupSize: ({ pp }) => pp },
  placement: 'around',
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: ({ vpp }) => vpp,
  inFlight: (shape, rankIndex) => inFlight(shape, groupSizeOf(shape), rankIndex),
  seconds,
  order: (shape) => interleavedOrder(shape, groupSizeOf(shape)),
};

export const interleavedBreadthFirst: Schedule = {
  ...interleaved,
  label: 'interleaved breadth-first',
  needs: { chunks: 'several', leastMicroBatches: ({ pp }) => pp },
  inFlight: (shape, rankIndex) => inFlight(shape, shape.numMicroBatches, rankIndex),
  order: (shape) => interleavedOrder(shape, shape.numMicroBatches),
};
