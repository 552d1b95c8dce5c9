/**
 * PipeDream-2BW: 1F1B that never drains. Weights are updated every m ≥ p micro-batches, one update late:
 * W(t+1) = W(t) − ν·∇f(W(t−1)), so that each rank keeps two versions of them. It trains another recursion than all other
 * schedules here.
 *
 * Steady time of a batch = m·max_r t_r: no bubble. The order is that of 1F1B over one batch; batches follow each other
 * without a drain. Sends beside compute lengthen the steady period by 2(p−1)/p each.
 * Source: MODEL §6; Narayanan et al. 2021 (ICML, memory-efficient pipeline-parallel training).
 */
import { oneFOneB, oneFOneBOrder } from './one-f-one-b.ts';
import { slowestSeconds, type PipelineSeconds, type PipelineShape, type Schedule, type StageSeconds } from './types.ts';

function seconds({ pp, numMicroBatches: m }: PipelineShape, stage: StageSeconds): PipelineSeconds {
  const perMicroBatch = stage.isSendHidden ? (2 * (pp - 1)) / pp : Math.min(2, 2 * (pp - 1));
  return { busy: m * slowestSeconds(stage), bubble: 0, sends: m * perMicroBatch * stage.send };
}

export const pipeDream2Bw: Schedule = {
  label: 'PipeDream-2BW',
  needs: { chunks: 'one', leastMicroBatches: ({ pp }) => pp },
  placement: 'one',
  splitsBackward: false,
  weightVersions: 2,
  modelCopies: 1,
  sendsPerMicroBatch: () => 1,
  inFlight: (shape, rank) => oneFOneB.inFlight(shape, rank),
  seconds,
  order: oneFOneBOrder,
};
