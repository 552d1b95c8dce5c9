/**
 * 1F1B (PipeDream-flush): each rank runs pp−1−rank forwards, then one forward and one backward in turn, then drains.
 *
 * Makespan = Σ_r t_r + (m−1)·max_r t_r with t = forward + backward of a rank. Exact when the slowest rank is the last
 * (the head's), an upper bound else. A blocking send adds its time to each of a micro-batch's two exchanges. Sends beside
 * compute still delay: rank r has only p−r micro-batches in flight, so that of p micro-batches all but one wait for a
 * round of two messages: 2(p−1) + 2((m−1) − ⌈(m−1)/p⌉) sends in all.
 * Source: MODEL §6; Narayanan et al. SC'21 §2.2.1; the delay of messages derived from the simulation.
 */
import { onePath, rankOrders, type PipelineOrder } from '../order.ts';
import {
  slowestSeconds,
  sumOfStages,
  type PipelineSeconds,
  type PipelineShape,
  type Schedule,
  type StageSeconds,
} from './types.ts';

function seconds(shape: PipelineShape, stage: StageSeconds): PipelineSeconds {
  const { pp, numMicroBatches: m } = shape;
  const slowest = slowestSeconds(stage);
  const busy = m * slowest;
  if (pp === 1) return { busy, bubble: 0, sends: 0 };
  const bubble = sumOfStages(stage) - slowest;
  // every hop of the first forward and of the last backward is waited for
  const hops = 2 * (pp - 1);
  const waits = stage.isSendHidden ? m - 1 - Math.ceil((m - 1) / pp) : m - 1;
  return { busy, bubble, sends: (hops + 2 * waits) * stage.send };
}

export function oneFOneBOrder(shape: PipelineShape): PipelineOrder {
  const { pp, numMicroBatches: m } = shape;
  const ranks = rankOrders(pp, (rank, builder) => {
    const warmUp = Math.min(pp - 1 - rank, m);
    for (let j = 0; j < warmUp; j++) builder.forward(rank, j);
    for (let j = 0; j < m; j++) {
      if (j + warmUp < m) builder.forward(rank, j + warmUp);
      builder.backward(rank, j);
    }
  });
  return onePath('one', shape, ranks);
}

export const oneFOneB: Schedule = {
  label: '1F1B',
  needs: { chunks: 'one' },
  placement: 'one',
  splitsBackward: false,
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: () => 1,
  inFlight: (shape, rankIndex) => Math.min(shape.pp - rankIndex, shape.numMicroBatches),
  seconds,
  order: oneFOneBOrder,
};
