/**
 * Interleaved 1F1B: each rank holds vpp chunks of layers, so that the pipeline fills vpp times faster at the price of
 * vpp times the sends.
 *
 * Makespan = m·max_r t_r + (Σ_r t_r − max_r t_r)/v for t = forward + backward of all of a rank's chunks; for equal ranks
 * m·t + (p−1)·t/v. In flight on rank r: (2(p−r−1) + (v−1)p + 1)/v, at most m.
 * Source: MODEL §6 and §3.6; Narayanan et al. SC'21 §2.2.2, Korthikanti et al. 2022 §4.2.3.
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
  const { pp, numMicroBatches: m, vpp } = shape;
  const slowest = slowestSeconds(stage);
  const fill = (sumOfStages(stage) - slowest) / vpp;
  const hops = 2 * (pp * vpp - 1) * stage.send;
  const exchanges = Math.max(0, 2 * (m - 1) * vpp) * stage.send;
  return { busy: m * slowest, bubble: fill, sends: hops + (stage.isSendHidden ? 0 : exchanges) };
}

export const interleaved: Schedule = {
  label: 'interleaved 1F1B',
  inFlight: ({ pp, numMicroBatches, vpp }, rankIndex) =>
    Math.min(numMicroBatches, (2 * (pp - rankIndex - 1) + (vpp - 1) * pp + 1) / vpp),
  seconds,
};
