/**
 * ZB-H1 and ZB-H2: closed forms of the zero-bubble schedules of one chunk per rank.
 *
 * With f, i, w the forward, input gradient and weight gradient of equal ranks, and t their sum:
 * H1: m·t + (p−1)·max(f+i−w, f, i); in flight (p−r) + r·M_W.
 * H2: m·t + (p−1)·max(f, i−f, f+i−2w); in flight (2(p−r)−1) + 2r·M_W. The ranks of H2 end as skewed as they start: where the
 * optimizer waits for all ranks (a global gradient norm), that skew (p−1)·f is lost, which this makespan counts. The cost
 * of Qi et al., which does not, is m·t + (p−1)·max(0, i−f, f+i−2w).
 * Uneven ranks: m·max_r t_r plus the same fill at the ranks' mean times. Messages as in 1F1B.
 * Source: MODEL §6 and §3.6; Qi et al. 2023 table 2; the other branches of the maxima from the simulation.
 */
import { oneFOneB } from './one-f-one-b.ts';
import {
  meanPasses,
  slowestSeconds,
  WEIGHT_GRADIENT_SHARE,
  type PipelineSeconds,
  type PipelineShape,
  type Schedule,
  type StageSeconds,
} from './types.ts';
import { zeroBubbleOrder } from './zero-bubble-h-order.ts';

type Passes = ReturnType<typeof meanPasses>;

/** Idle seconds of one hop of the pipeline. */
const hopSeconds: Readonly<Record<1 | 2, (passes: Passes) => number>> = {
  1: ({ forward: f, inputGradient: i, weightGradient: w }) => Math.max(f + i - w, f, i),
  2: ({ forward: f, inputGradient: i, weightGradient: w }) => Math.max(f, i - f, f + i - 2 * w),
};

function seconds(k: 1 | 2, shape: PipelineShape, stage: StageSeconds): PipelineSeconds {
  const busy = shape.numMicroBatches * slowestSeconds(stage);
  const { sends } = oneFOneB.seconds(shape, stage);
  return { busy, bubble: (shape.pp - 1) * hopSeconds[k](meanPasses(stage)), sends };
}

/** Cost of ZB-H2 with equal ranks: the longest time from a rank's first operation to its last, s. */
export function zeroBubbleH2Cost({ pp, numMicroBatches }: PipelineShape, passes: Passes): number {
  const { forward: f, inputGradient: i, weightGradient: w } = passes;
  return numMicroBatches * (f + i + w) + (pp - 1) * Math.max(0, i - f, f + i - 2 * w);
}

const inFlight = (k: 1 | 2, { pp, numMicroBatches }: PipelineShape, rank: number) =>
  Math.min(numMicroBatches, k * (pp - rank - 1) + 1 + k * rank * WEIGHT_GRADIENT_SHARE);

const common = {
  placement: 'one',
  splitsBackward: true,
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: () => 1,
} as const;

export const zeroBubbleH1: Schedule = {
  ...common,
  label: 'ZB-H1',
  needs: { chunks: 'one', leastMicroBatches: ({ pp }) => pp },
  inFlight: (shape, rank) => inFlight(1, shape, rank),
  seconds: (shape, stage) => seconds(1, shape, stage),
  order: (shape) => zeroBubbleOrder(shape, 1),
};

export const zeroBubbleH2: Schedule = {
  ...common,
  label: 'ZB-H2',
  needs: { chunks: 'one', leastMicroBatches: ({ pp }) => 2 * pp - 1 },
  inFlight: (shape, rank) => inFlight(2, shape, rank),
  seconds: (shape, stage) => seconds(2, shape, stage),
  order: (shape) => zeroBubbleOrder(shape, 2),
};
