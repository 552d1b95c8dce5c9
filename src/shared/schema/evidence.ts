/** The record of measured runs beside what the planner predicts for them (docs/FORMATS.md §7). SI units. */
import { z } from 'zod';
import { timePartSchema } from './estimate.ts';

const quantities = z.strictObject({ stepSeconds: z.number().nullable(), peakMemoryBytes: z.number().nullable() });

export const evidenceRowSchema = z.strictObject({
  id: z.string(),
  source: z.strictObject({ title: z.string(), url: z.string().nullable(), where: z.string().nullable() }),
  /** As the source prints it. */
  framework: z.string(),
  /** As a calibration tells stacks apart; the printed name where the stack is not planned. */
  stack: z.string(),
  task: z.string(),
  model: z.string(),
  /** gpt, llama, deepseek …: the first word of the model's name. */
  family: z.string(),
  kind: z.enum(['dense', 'moe']),
  /** Of the model as it was read; null where it could not be. */
  parameters: z.number().nullable(),
  /** Id in the catalog; the printed name where the catalog has none of it. */
  accelerator: z.string(),
  numAccelerators: z.number().nullable(),
  /** What matmuls compute in: bf16, fp16, fp8, fp4; `unknown` where the row says nothing that is understood. */
  precision: z.string(),
  seqLen: z.number().nullable(),
  globalBatchSize: z.number().nullable(),
  /** The split as printed: tp, pp, cp, ep, dp, vpp, micro-batch. */
  split: z.string(),
  /** A full configuration … D no throughput. */
  quality: z.string(),
  /** Why a row is suspicious; such rows are shown and left out of fits. */
  flags: z.array(z.string()),
  /** Quality A or B, a step time, no flag: one of the rows that figures are taken over. */
  counts: z.boolean(),
  predicted: quantities,
  measured: quantities,
  /** Predicted ÷ measured − 1; null where either is unknown. */
  errorFraction: z.number().nullable(),
  memoryErrorFraction: z.number().nullable(),
  /** Fields that a prediction needs and the row does not have. */
  missing: z.array(z.string()),
  /** Why there is no prediction; null where there is one. */
  skipped: z.string().nullable(),
});
export type EvidenceRow = z.infer<typeof evidenceRowSchema>;

/** One row opened: what the source says, and what the planner made of it. */
export const evidenceDetailSchema = z.strictObject({
  row: evidenceRowSchema,
  /** The row as recorded: model, cluster, parallel, measured … in the words of its source. */
  recorded: z.record(z.string(), z.unknown()),
  /** The plan that was predicted, as `--plan` takes it; null where there is none. */
  plan: z.string().nullable(),
  assumed: z.array(z.string()),
  parts: timePartSchema.nullable(),
});
export type EvidenceDetail = z.infer<typeof evidenceDetailSchema>;

/** A measured run that is like a plan, and in what it differs. */
export const evidenceNeighborSchema = z.strictObject({
  row: evidenceRowSchema,
  /** 0 = alike in everything that is compared. */
  distance: z.number(),
  /** What is the same and what differs, in words. */
  same: z.array(z.string()),
  differs: z.array(z.string()),
});
export const nearestEvidenceSchema = z.strictObject({
  neighbors: z.array(evidenceNeighborSchema),
  /** Why the evidence says little about the plan; null where rows are near. */
  warning: z.string().nullable(),
});
export type NearestEvidence = z.infer<typeof nearestEvidenceSchema>;

/** A training log beside what is predicted for the plan that it is of. */
export const logComparisonSchema = z.strictObject({
  framework: z.string(),
  /** What the log prints; median and quartiles are in its unit (seconds, or per second). */
  quantity: z.enum(['stepSeconds', 'tokensPerSecondPerAccelerator', 'tokensPerSecond', 'samplesPerSecond']),
  median: z.number(),
  quartiles: z.tuple([z.number(), z.number()]),
  /** Steps that the median is of; dropped at the start as warm-up; far from the median later, and kept. */
  count: z.int(),
  warmUpDropped: z.int(),
  outliers: z.int(),
  measured: quantities,
  predicted: quantities,
  /** Predicted ÷ measured − 1. */
  errorFraction: z.number(),
  memoryErrorFraction: z.number().nullable(),
  /** In what log and scenario differ, and what is peculiar to the log's numbers. */
  notes: z.array(z.string()),
});
export type LogComparison = z.infer<typeof logComparisonSchema>;
