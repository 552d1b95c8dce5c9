/** A pipeline schedule as the planner needs it: how long a step's pipeline takes, and how much it keeps in flight. */

/** pp ranks, numMicroBatches micro-batches, vpp chunks per rank. */
export interface PipelineShape {
  pp: number;
  numMicroBatches: number;
  vpp: number;
}

/** Seconds per micro-batch of the ranks (all their chunks), forward plus backward. */
export interface StageSeconds {
  /** One value per rank, in order of the pipeline. */
  perRank: ArrayLike<number>;
  /** One send to the next or previous stage, of one chunk's boundary tensor. */
  send: number;
  /** Sends run beside compute in the steady state (they still delay the fill and the drain). */
  isSendHidden: boolean;
}

/** Where a step's pipeline time goes; the three sum to the makespan. */
export interface PipelineSeconds {
  /** Work of the slowest rank: numMicroBatches × its time per micro-batch. */
  busy: number;
  /** Time that rank idles while the pipeline fills and drains with other ranks' work. */
  bubble: number;
  /** Time it waits for messages: every hop of fill and drain, and its own exchanges where they are not hidden. */
  sends: number;
}

export interface Schedule {
  label: string;
  /** Micro-batches whose activations rank `rankIndex` holds at its peak, in units of one rank's (all chunks) share. */
  inFlight(shape: PipelineShape, rankIndex: number): number;
  seconds(shape: PipelineShape, stage: StageSeconds): PipelineSeconds;
}

/** The slowest of the ranks. */
export function slowestSeconds({ perRank }: StageSeconds): number {
  let slowest = 0;
  for (let rank = 0; rank < perRank.length; rank++) slowest = Math.max(slowest, perRank[rank] ?? 0);
  return slowest;
}

/** Sum over the ranks, which is what the first micro-batch needs to pass all of them both ways. */
export function sumOfStages({ perRank }: StageSeconds): number {
  let sum = 0;
  for (let rank = 0; rank < perRank.length; rank++) sum += perRank[rank] ?? 0;
  return sum;
}
