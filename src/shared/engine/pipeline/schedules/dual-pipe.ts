/**
 * DualPipe and DualPipeV: micro-batches from both ends (or over both chunks of a V), a forward of one interwoven with a
 * backward of another, which hides one's communication behind the other's compute.
 *
 * DualPipe keeps two copies of the model: rank r holds stage r of one and stage p−1−r of the other, and half of the
 * micro-batches enter at each end. README's idle time (p/2−1)·(F&B + B − 3W), with B the whole backward and F&B the pair,
 * is exact for f = i = w and mostly, not always, an upper bound else; all times here come from the simulation.
 * In flight: p+1 stages' activations on every rank; a rank of DualPipe holds two stages, one of DualPipeV two of 2p.
 * Source: MODEL §6 and §3.6; deepseek-ai/DualPipe README and dualpipe.py (HEAD); DeepSeek-V3 (arXiv 2412.19437) §3.2.1.
 */
import { dualPipeOrder, dualPipeVOrder } from './dual-pipe-order.ts';
import { simulatedSeconds } from './simulated.ts';
import type { PipelineShape, Schedule } from './types.ts';

/** Times of one stage's passes, s; `pair` is an interwoven forward and backward. */
export interface PairPasses {
  readonly forward: number;
  readonly inputGradient: number;
  readonly weightGradient: number;
  readonly pair: number;
}

/** Idle seconds of a rank over `positions` ranks from the end to the middle (p/2; all ranks of DualPipeV). README. */
export function dualPipeBubble(positions: number, passes: PairPasses): number {
  const { pair, inputGradient, weightGradient } = passes;
  return (positions - 1) * (pair + inputGradient + weightGradient - 3 * weightGradient);
}

const fromBothEnds = ({ pp, numMicroBatches }: PipelineShape) => dualPipeOrder(pp, numMicroBatches);
const overV = ({ pp, numMicroBatches }: PipelineShape) => dualPipeVOrder(pp, numMicroBatches);

export const dualPipe: Schedule = {
  label: 'DualPipe',
  needs: { chunks: 'one', isPpEven: true, microBatchMultiple: () => 2, leastMicroBatches: ({ pp }) => 2 * pp },
  placement: 'one',
  splitsBackward: true,
  weightVersions: 1,
  modelCopies: 2,
  sendsPerMicroBatch: () => 1,
  inFlight: ({ pp }) => (pp + 1) / 2,
  seconds: (shape, stage) => simulatedSeconds(fromBothEnds, shape, stage),
  order: fromBothEnds,
};

export const dualPipeV: Schedule = {
  label: 'DualPipeV',
  needs: { chunks: 'two', leastMicroBatches: ({ pp }) => 2 * pp },
  placement: 'down-and-up',
  splitsBackward: true,
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: () => 2,
  inFlight: ({ pp }) => (2 * pp + 1) / 2,
  seconds: (shape, stage) => simulatedSeconds(overV, shape, stage),
  order: overV,
};
