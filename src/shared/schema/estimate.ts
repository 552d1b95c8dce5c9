/** What a plan gives: times, rates, memory and money, each traced to its parts (docs/FORMATS.md §6). SI units throughout. */
import { z } from 'zod';
import { planSchema } from './plan.ts';

/** A number that went into a formula; the unit is empty for counts. */
export const quantitySchema = z.strictObject({ label: z.string(), value: z.number(), unit: z.string() });
export type Quantity = z.infer<typeof quantitySchema>;

/** A time in seconds and what it is made of: the children's seconds sum to their parent's. */
export interface TimePart {
  label: string;
  seconds: number;
  /** The formula or measurement behind it, with its source. */
  source: string;
  /** How the seconds follow from `inputs`; absent where they are the sum of the children. */
  formula?: string | undefined;
  inputs?: Quantity[] | undefined;
  children: TimePart[];
}
export const timePartSchema: z.ZodType<TimePart> = z.lazy(() =>
  z.strictObject({
    label: z.string(),
    seconds: z.number(),
    source: z.string(),
    formula: z.string().optional(),
    inputs: z.array(quantitySchema).optional(),
    children: z.array(timePartSchema),
  }),
);

/** A number of bytes and what it is made of: the children's bytes sum to their parent's. */
export interface MemoryPart {
  label: string;
  bytes: number;
  source: string;
  children: MemoryPart[];
}
export const memoryPartSchema: z.ZodType<MemoryPart> = z.lazy(() =>
  z.strictObject({ label: z.string(), bytes: z.number(), source: z.string(), children: z.array(memoryPartSchema) }),
);

export const memoryCategories = ['weights', 'gradients', 'optimizer', 'activations', 'workspace'] as const;
export type MemoryCategory = (typeof memoryCategories)[number];

/** One accelerator of one pipeline stage (0-based), bytes by category; `totalBytes` is their sum. */
export const stageMemorySchema = z.strictObject({
  stageIndex: z.int(),
  weights: z.number(),
  gradients: z.number(),
  optimizer: z.number(),
  activations: z.number(),
  workspace: z.number(),
  totalBytes: z.number(),
});
export type StageMemory = z.infer<typeof stageMemorySchema>;

export const memoryMomentIds = ['loading', 'training', 'update', 'saving'] as const;
export type MemoryMomentId = (typeof memoryMomentIds)[number];

/** What the fullest stage holds at a moment of the run, on its device and on its node's host; each sums its parts. */
export const memoryMomentSchema = z.strictObject({
  id: z.enum(memoryMomentIds),
  label: z.string(),
  /** The stage that holds most at this moment, 0-based. */
  stageIndex: z.int(),
  bytes: z.number(),
  parts: z.array(memoryPartSchema),
  hostBytesPerNode: z.number(),
  hostParts: z.array(memoryPartSchema),
});
export type MemoryMoment = z.infer<typeof memoryMomentSchema>;

/**
 * Steps of the waterfall from the ideal (model FLOPs at the dense peak) to the step time; `seconds` add up to
 * stepSeconds exactly. `kind` says how to draw it.
 */
export const waterfallStepSchema = z.strictObject({
  label: z.string(),
  seconds: z.number(),
  kind: z.enum(['ideal', 'loss']),
  /** One plain sentence: what this time is and what would shrink it. */
  why: z.string(),
});
export type WaterfallStep = z.infer<typeof waterfallStepSchema>;

/** One communication of the step: who talks, how much, over what, and how much of it is not hidden. */
export const communicationSchema = z.strictObject({
  label: z.string(),
  group: z.string(),
  groupSize: z.int(),
  /** The slowest links on the way: `node` = PCIe inside a node, `host` = between accelerator and host memory. */
  placement: z.enum(['scale-up', 'node', 'scale-out', 'host']),
  operation: z.string(),
  callsPerStep: z.number(),
  bytesPerCall: z.number(),
  secondsPerCall: z.number(),
  totalSeconds: z.number(),
  exposedSeconds: z.number(),
});
export type Communication = z.infer<typeof communicationSchema>;

const range = z.tuple([z.number(), z.number()]);

export const estimateSchema = z.strictObject({
  stepSeconds: z.number(),
  tokensPerSecond: z.number(),
  tokensPerSecondPerAccelerator: z.number(),
  /** Model FLOPs (no recomputation) ÷ (stepSeconds · accelerators · dense peak). */
  mfu: z.number(),
  /** Hardware FLOPs (with recomputation) ÷ the same. */
  hfu: z.number(),
  /** What mfu and hfu count, in words. */
  flopsConvention: z.string(),
  modelFlops: z.number(),
  hardwareFlops: z.number(),
  peakFlopsPerSecond: z.number(),
  /** Idle ÷ pipeline time of the slowest stage, from the schedule. */
  bubbleFraction: z.number(),
  numMicroBatches: z.int(),
  parameters: z.number(),
  peakMemoryBytes: z.number(),
  peakMemoryBytesByStage: z.array(z.number()),
  memoryByStage: z.array(stageMemorySchema),
  usableMemoryBytes: z.number(),
  /** Of the fullest stage as its framework's allocator counts it: `max_memory_allocated` and `max_memory_reserved`. */
  allocatedMemoryBytes: z.number(),
  reservedMemoryBytes: z.number(),
  /** What the neediest node offloads to its host, and what that has; null = unknown. */
  hostBytesPerNode: z.number(),
  hostMemoryBytes: z.number().nullable(),
  /** When memory peaks, in the order of a run; the peak is the largest of their bytes. */
  memoryMoments: z.array(memoryMomentSchema),
  /** Whole run; null where the job states no tokens (days) or the cluster no price (cost). */
  days: z.number().nullable(),
  cost: z.number().nullable(),
  currency: z.string().nullable(),
  acceleratorHours: z.number().nullable(),
  /** 90 % intervals from the residuals of measured runs; null where there is no evidence to take one from. */
  interval: z.strictObject({
    stepSeconds: range.nullable(),
    peakMemoryBytes: range.nullable(),
    basis: z.string(),
  }),
  parts: timePartSchema,
  memoryParts: memoryPartSchema,
  waterfall: z.array(waterfallStepSchema),
  communication: z.array(communicationSchema),
  /** What was assumed because the scenario does not say. */
  assumed: z.array(z.string()),
});
export type Estimate = z.infer<typeof estimateSchema>;

export const violationSchema = z.strictObject({
  rule: z.string(),
  message: z.string(),
  /** The values that this field may take here, all else unchanged. */
  legal: z.array(z.union([z.number(), z.string(), z.boolean()])),
  /** The legal value nearest to the given one; null where no value of this field alone helps. */
  nearest: z.union([z.number(), z.string(), z.boolean()]).nullable(),
  /** Dotted plan path of the field. */
  path: z.string(),
});
export type Violation = z.infer<typeof violationSchema>;

export const verdicts = ['fits', 'at-risk', 'out-of-memory'] as const;
export type Verdict = (typeof verdicts)[number];

export const fixSchema = z.strictObject({
  change: z.string(),
  /** The change as a partial plan in dotted paths. */
  patch: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  savesBytes: z.number(),
  costsSeconds: z.number(),
  verdict: z.enum(verdicts),
});
export type Fix = z.infer<typeof fixSchema>;

/** The numbers of a plan that tables and scatter plots need; an `Estimate` opens them. */
export const planSummarySchema = z.strictObject({
  /** Canonical text of the plan; equal plans have equal keys. */
  key: z.string(),
  plan: planSchema,
  stepSeconds: z.number(),
  tokensPerSecondPerAccelerator: z.number(),
  mfu: z.number(),
  hfu: z.number(),
  bubbleFraction: z.number(),
  peakMemoryBytes: z.number(),
  days: z.number().nullable(),
  cost: z.number().nullable(),
  verdict: z.enum(verdicts),
});
export type PlanSummary = z.infer<typeof planSummarySchema>;

export const searchStatsSchema = z.strictObject({
  enumerated: z.int(),
  prunedByReason: z.record(z.string(), z.int()),
  evaluated: z.int(),
  feasible: z.int(),
  seconds: z.number(),
  workers: z.int(),
});
export type SearchStats = z.infer<typeof searchStatsSchema>;

/** The best plan (or null) of each tp × pp cell, for the heat map. */
export const heatCellSchema = z.strictObject({
  tp: z.int(),
  pp: z.int(),
  /** Fastest plan of the cell that fits; null: every one runs out of memory or breaks a rule. */
  best: planSummarySchema.nullable(),
  /** Least peak memory of any plan of the cell, bytes; null: no valid plan. */
  leastMemoryBytes: z.number().nullable(),
  plans: z.int(),
});
export type HeatCell = z.infer<typeof heatCellSchema>;

/** What a search found; kept with its scenario. */
export const searchResultSchema = z.strictObject({
  best: z.array(planSummarySchema),
  /** Pareto frontier of throughput against peak memory, fastest first. */
  frontier: z.array(planSummarySchema),
  heatMap: z.array(heatCellSchema),
  /** The scenario's own plan (its published or pinned split) with its rank by speed among those that fit; null: it does not. */
  reference: z.strictObject({ summary: planSummarySchema, rank: z.int().nullable(), label: z.string() }).nullable(),
  /** What to do when no plan fits; empty when one does. */
  whyEmpty: z.array(z.string()),
  stats: searchStatsSchema,
  /** Version of the planning model that computed it. */
  engineVersion: z.string(),
});
export type SearchResult = z.infer<typeof searchResultSchema>;
