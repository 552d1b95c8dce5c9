/**
 * 1F1B (PipeDream-flush): each rank runs pp−1−rank forwards, then one forward and one backward in turn, then drains.
 *
 * Makespan = Σ_r t_r + (m−1)·max_r t_r with t = forward + backward of a rank. Exact when the slowest rank is the last
 * (the head's), an upper bound else. A blocking send adds its time to each of a micro-batch's two exchanges.
 * Source: MODEL §6; Narayanan et al. SC'21 §2.2.1.
 */
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
  const fill = sumOfStages(stage) - slowest;
  // every hop of the first forward and of the last backward is waited for; in between, two exchanges per micro-batch
  const hops = 2 * (pp - 1) * stage.send;
  return { busy, bubble: fill, sends: hops + (stage.isSendHidden ? 0 : 2 * (m - 1) * stage.send) };
}

export const oneFOneB: Schedule = {
  label: '1F1B',
  inFlight: (shape, rankIndex) => Math.min(shape.pp - rankIndex, shape.numMicroBatches),
  seconds,
};
