/** Every pass of a pipeline's step on every stage, as the simulation runs it. SI seconds; the step begins at 0. */
import { z } from 'zod';

/** What an operation is: a whole backward, or its two halves where the schedule runs them apart; a pair is a forward with a backward. */
export const passKinds = ['forward', 'backward', 'input-gradient', 'weight-gradient', 'pair'] as const;
export type PassKind = (typeof passKinds)[number];

/** One stage's operations in order, as columns of equal length. */
export const timelineRankSchema = z.strictObject({
  /** Pipeline rank, 0-based. */
  rank: z.int(),
  busySeconds: z.number(),
  idleSeconds: z.number(),
  starts: z.array(z.number()),
  ends: z.array(z.number()),
  /** Indices into `passKinds`. */
  kinds: z.array(z.int()),
  /** Virtual stage and micro-batch; of a pair those of its forward. */
  stages: z.array(z.int()),
  microBatches: z.array(z.int()),
});
export type TimelineRank = z.infer<typeof timelineRankSchema>;

export const timelineSchema = z.strictObject({
  schedule: z.string(),
  pp: z.int(),
  vpp: z.int(),
  numMicroBatches: z.int(),
  /** End of the last operation. */
  makespanSeconds: z.number(),
  /** What the estimate takes for the same pipeline; its closed forms are upper bounds where stages differ. */
  estimateSeconds: z.number(),
  sendSeconds: z.number(),
  /** Operations of all ranks; `ranks` holds evenly spaced ones where all would be too many to draw. */
  operations: z.int(),
  ranks: z.array(timelineRankSchema),
});
export type Timeline = z.infer<typeof timelineSchema>;
