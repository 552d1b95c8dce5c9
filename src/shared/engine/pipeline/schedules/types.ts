/**
 * A pipeline schedule as the planner needs it: the order of work on each rank, how long a step's pipeline takes, how
 * much it keeps in flight, and which shapes it can run.
 */
import type { PipelineOrder, Placement } from '../order.ts';

/** pp ranks, numMicroBatches micro-batches, vpp chunks per rank. */
export interface PipelineShape {
  pp: number;
  numMicroBatches: number;
  vpp: number;
  /** Micro-batches that a rank sends through one chunk before the next (interleaved 1F1B); pp where absent or null. */
  groupSize?: number | null;
}

/** Seconds per micro-batch of the ranks (all their chunks, one copy of the model), forward plus backward. */
export interface StageSeconds {
  /** One value per rank, in order of the pipeline. */
  perRank: ArrayLike<number>;
  /** Of that the forward, and the gradients of the weights; where absent a third each, which matmuls alone would take. */
  forwardPerRank?: ArrayLike<number>;
  weightGradientPerRank?: ArrayLike<number>;
  /** Time of an interwoven forward and backward ÷ the sum of both (DualPipe); 1 where absent: nothing gained. */
  pairFactor?: number;
  /** One send to the next or previous stage, of one chunk's boundary tensor. */
  send: number;
  /** Sends run beside compute in the steady state (they still delay the fill and the drain). */
  isSendHidden: boolean;
}

/** Where a step's pipeline time goes; the three sum to the makespan. */
export interface PipelineSeconds {
  /** Work of the slowest rank: numMicroBatches × its time per micro-batch. */
  busy: number;
  /**
   * Time that rank idles while the pipeline fills and drains with other ranks' work; negative where another rank takes part
   * of its work (DualPipe).
   */
  bubble: number;
  /** Time it waits for messages: every hop of fill and drain, and its own exchanges where they are not hidden. */
  sends: number;
}

/** What a schedule asks of a plan; rules turn it into words and legal values. */
export interface ShapeNeeds {
  /** Chunks per rank: one, exactly two, or two and more. */
  readonly chunks: 'one' | 'two' | 'several';
  /** The ranks must pair up. */
  readonly isPpEven?: true;
  /** The micro-batches must be a multiple of this. */
  microBatchMultiple?(shape: PipelineShape): number;
  /** … and at least this many. */
  leastMicroBatches?(shape: PipelineShape): number;
  /** A group size may be given, of at least this many micro-batches. */
  leastGroupSize?(shape: PipelineShape): number;
}

export interface Schedule {
  readonly label: string;
  readonly needs: ShapeNeeds;
  readonly placement: Placement;
  /** Weight gradients are an operation of their own, so that their time matters apart. */
  readonly splitsBackward: boolean;
  /** Versions of the weights that a rank keeps (PipeDream-2BW keeps two). */
  readonly weightVersions: number;
  /** Copies of the model in one pipeline (DualPipe runs two, one from each end). */
  readonly modelCopies: number;
  /** Sends of one micro-batch over a rank's boundary, in each direction. */
  sendsPerMicroBatch(shape: PipelineShape): number;
  /**
   * Micro-batches whose activations rank `rankIndex` holds at its peak, in units of all that the rank holds for one
   * micro-batch (all chunks and copies).
   */
  inFlight(shape: PipelineShape, rankIndex: number): number;
  /** Closed form of the makespan. */
  seconds(shape: PipelineShape, stage: StageSeconds): PipelineSeconds;
  /** Each rank's operations in order, for the simulator. */
  order(shape: PipelineShape): PipelineOrder;
}

/**
 * Activations that a weight gradient still needs ÷ those of the whole stage, for schedules that put it off.
 * Source: MODEL §3.6; Qi et al. 2023 (zero bubble) count M_W against M_B; half is what the inputs of the matmuls are of a
 * layer without stored scores.
 */
export const WEIGHT_GRADIENT_SHARE = 0.5;

/** The slowest of the ranks. */
export function slowestSeconds({ perRank }: StageSeconds): number {
  let slowest = 0;
  for (let rank = 0; rank < perRank.length; rank++) slowest = Math.max(slowest, perRank[rank] ?? 0);
  return slowest;
}

/** Sum over the ranks, which is what the first micro-batch needs to pass all of them both ways. */
export function sumOfStages({ perRank }: StageSeconds): number {
  return sum(perRank);
}

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < values.length; index++) total += values[index] ?? 0;
  return total;
}

/** Means over the ranks of forward, input gradient and weight gradient. */
export function meanPasses(stage: StageSeconds): { forward: number; inputGradient: number; weightGradient: number } {
  const ranks = stage.perRank.length;
  const total = sumOfStages(stage) / ranks;
  const forward = stage.forwardPerRank === undefined ? total / 3 : sum(stage.forwardPerRank) / ranks;
  const weightGradient =
    stage.weightGradientPerRank === undefined ? total / 3 : sum(stage.weightGradientPerRank) / ranks;
  return { forward, inputGradient: total - forward - weightGradient, weightGradient };
}

/** Micro-batches before the next chunk. */
export function groupSizeOf({ pp, groupSize }: PipelineShape): number {
  return groupSize ?? pp;
}
