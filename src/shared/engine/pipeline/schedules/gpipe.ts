/**
 * GPipe: all forwards, then all backwards.
 *
 * Makespan = Σ_r t_r + (m−1)·max_r t_r for t = forward + backward of a rank, exact where one rank is slowest both ways.
 * Everything is in flight. Hidden sends delay the fill and the drain only: 2(p−1) of them.
 * Source: MODEL §6; Huang et al. 2019; Narayanan et al. SC'21 §2.2.1.
 */
import { onePath, rankOrders } from '../order.ts';
import { oneFOneB } from './one-f-one-b.ts';
import { type PipelineSeconds, type PipelineShape, type Schedule, type StageSeconds } from './types.ts';

function seconds(shape: PipelineShape, stage: StageSeconds): PipelineSeconds {
  const hops = 2 * (shape.pp - 1) * stage.send;
  const blocking = oneFOneB.seconds(shape, { ...stage, isSendHidden: false });
  return stage.isSendHidden ? { ...blocking, sends: hops } : blocking;
}

export const gpipe: Schedule = {
  label: 'GPipe',
  needs: { chunks: 'one' },
  placement: 'one',
  splitsBackward: false,
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: () => 1,
  inFlight: ({ numMicroBatches }) => numMicroBatches,
  seconds,
  order: (shape) =>
    onePath(
      'one',
      shape,
      rankOrders(shape.pp, (rank, builder) => {
        for (let j = 0; j < shape.numMicroBatches; j++) builder.forward(rank, j);
        for (let j = 0; j < shape.numMicroBatches; j++) builder.backward(rank, j);
      }),
    ),
};
