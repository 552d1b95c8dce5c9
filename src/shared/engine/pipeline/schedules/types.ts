/** A pipeline schedule as the planner needs it: how long a step's pipeline takes, and how much it keeps in flight. */

/** pp ranks, numMicroBatches micro-batches, vpp chunks per rank. */
export interface PipelineShape {
  pp: number;
  numMicroBatches: number;
  vpp: number;
}

/** Seconds per micro-batch on the first, a middle and the last rank (all their chunks), forward plus backward. */
export interface StageSeconds {
  first: number;
  middle: number;
  last: number;
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

/** The slowest of the ranks that exist. */
export function slowestSeconds(shape: PipelineShape, stage: StageSeconds): number {
  if (shape.pp === 1) return stage.first;
  return Math.max(stage.first, stage.last, shape.pp > 2 ? stage.middle : 0);
}

/** Sum over the ranks, which is what the first micro-batch needs to pass all of them both ways. */
export function sumOfStages(shape: PipelineShape, stage: StageSeconds): number {
  if (shape.pp === 1) return stage.first;
  return stage.first + stage.last + (shape.pp - 2) * stage.middle;
}
