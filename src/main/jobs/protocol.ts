/** What the pool and a worker say to each other. All of it is plain data. */
import type { Problem, SliceRequest, SliceResult } from '#shared/engine/index.ts';
import type { PlanSummary } from '#shared/schema/index.ts';

/** `stop[0]` is set to 1 by the pool to end the slices of this search early. */
export interface ProblemMessage {
  type: 'problem';
  problem: Problem;
  stop: Int32Array;
}
/** One slice of the problem that was sent last. */
export interface SliceMessage {
  type: 'slice';
  request: SliceRequest;
}
export type ToWorker = ProblemMessage | SliceMessage;

export type FromWorker =
  | { type: 'progress'; covered: number; best: PlanSummary | null }
  | { type: 'done'; result: SliceResult }
  | { type: 'failed'; message: string };
