/**
 * Interleaved 1F1B: each rank holds vpp chunks of layers, so that the pipeline fills vpp times faster at the price of
 * vpp times the sends. Depth first, groups of g = pp micro-batches pass one chunk before the next; breadth first, all of
 * the step's do.
 *
 * Makespan = m·max_r t_r + (Σ_r t_r − max_r t_r)/v for t = forward + backward of all of a rank's chunks; for equal ranks
 * m·t + (p−1)·t/v, whatever g. In flight on rank r: (2(p−r−1) + (v−1)g + 1)/v, at most m. Sends beside compute delay the
 * fill and the drain only, 2(pv−1) of them for g = p, as long as one takes no longer than a chunk's forward; in a larger
 * group other micro-batches fill the wait between chunks.
 * Source: MODEL §6 and §3.6; Narayanan et al. SC'21 §2.2.2, Korthikanti et al. 2022 §4.2.3, Lamy-Poirier 2023 (breadth
 * first).
 */
import { interleavedOrder } from './interleaved-order.ts';
import {
  groupSizeOf,
  meanPasses,
  slowestSeconds,
  sumOfStages,
  type PipelineSeconds,
  type PipelineShape,
  type Schedule,
  type StageSeconds,
} from './types.ts';

/**
 * Messages waited for while the pipeline fills and drains: the p−1 hops to the last rank, and per further chunk the p hops
 * of a round less what the group's other micro-batches give to do meanwhile.
 */
function hopSeconds({ pp, vpp }: PipelineShape, groupSize: number, stage: StageSeconds): number {
  const { forward, inputGradient, weightGradient } = meanPasses(stage);
  const spare = (groupSize - pp) / vpp;
  const wait = (seconds: number) => Math.max(0, pp * stage.send - spare * seconds);
  return 2 * (pp - 1) * stage.send + (vpp - 1) * (wait(forward) + wait(inputGradient + weightGradient));
}

function secondsOf(shape: PipelineShape, groupSize: number, stage: StageSeconds): PipelineSeconds {
  const { numMicroBatches: m, vpp } = shape;
  const slowest = slowestSeconds(stage);
  const fill = (sumOfStages(stage) - slowest) / vpp;
  const hops = hopSeconds(shape, groupSize, stage);
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
  splitsBackward: false,
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: ({ vpp }) => vpp,
  inFlight: (shape, rankIndex) => inFlight(shape, groupSizeOf(shape), rankIndex),
  seconds: (shape, stage) => secondsOf(shape, groupSizeOf(shape), stage),
  order: (shape) => interleavedOrder(shape, groupSizeOf(shape)),
};

export const interleavedBreadthFirst: Schedule = {
  ...interleaved,
  label: 'interleaved breadth-first',
  needs: { chunks: 'several', leastMicroBatches: ({ pp }) => pp },
  inFlight: (shape, rankIndex) => inFlight(shape, shape.numMicroBatches, rankIndex),
  seconds: (shape, stage) => secondsOf(shape, shape.numMicroBatches, stage),
  order: (shape) => interleavedOrder(shape, shape.numMicroBatches),
};
