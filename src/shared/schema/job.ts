/** What is to be done: a training run (serving comes later), its batch, length, precision and framework. */
import { z } from 'zod';
import { count, fraction, positive, sparse } from './primitives.ts';
import { precisions } from './hardware.ts';

export const frameworkFamilies = ['megatron-lm', 'fsdp', 'deepspeed'] as const;

/** Products that measured runs came from, and whose rules each follows. A calibration knows them apart. */
export const stackFamilies = {
  'megatron-lm': 'megatron-lm',
  nemo: 'megatron-lm',
  'megatron-bridge': 'megatron-lm',
  'megatron-deepspeed': 'megatron-lm',
  internevo: 'megatron-lm',
  deepspeed: 'deepspeed',
  fsdp: 'fsdp',
  'llm-foundry': 'fsdp',
  torchtitan: 'fsdp',
  maxtext: 'fsdp',
  paxml: 'fsdp',
} as const satisfies Record<string, (typeof frameworkFamilies)[number]>;
export type StackName = keyof typeof stackFamilies;
export const stackNames = Object.keys(stackFamilies) as [StackName, ...StackName[]];

/** Optimizers by what they keep: the precision of Adam's moments stands in its name; all keep fp32 master weights but `pure`. */
export const optimizers = [
  'adam-fp32',
  'adam-bf16',
  'adam-fp8',
  'adam-8bit',
  'adam-bf16-pure',
  'muon',
  'sgd-momentum',
  'adafactor',
] as const;
export type Optimizer = (typeof optimizers)[number];

export const precisionSchema = z.strictObject({
  /** Data type of the matrix multiplications; `fp4` is the NVFP4 recipe. */
  compute: z.enum(precisions),
  /** `fp8`: the weights themselves are 8-bit, with their transpose beside them; master weights stay fp32. */
  weights: z.enum(['bf16', 'fp16', 'fp32', 'fp8']),
  gradients: z.enum(['fp32', 'bf16', 'fp16']),
  optimizer: z.enum(optimizers),
});

export const frameworkSchema = z.strictObject({
  family: z.enum(frameworkFamilies),
  /** Free text as releases name themselves ("core 0.13", "2021"); null = the newest that is modelled. */
  version: z.string().nullable().default(null),
  /** The product on top of the family, as far as measured runs tell it apart; null = the family's own. */
  stack: z.enum(stackNames).nullable().default(null),
});

/** Low-rank adapters beside frozen weights. Source: Hu et al. 2021 (LoRA, arXiv 2106.09685). */
const lora = z.strictObject({
  /** Width of the adapters. */
  rank: count.max(65_536).default(16),
  /**
   * Which linear maps get adapters: `attention` those of the mixers (attention and what takes its place), `qkv` of attention
   * only what makes queries, keys and values, `ffn` those of the feed-forward parts.
   */
  targets: z
    .array(z.enum(['qkv', 'attention', 'ffn']))
    .min(1)
    .max(2)
    .default(['attention', 'ffn']),
});

export const jobSchema = z.strictObject({
  kind: z.literal('training'),
  task: z.enum(['pretrain', 'sft', 'lora']).default('pretrain'),
  /** The adapters of a `lora` task; null in every other. */
  lora: lora.nullable().default(null),
  globalBatchSize: count.max(100_000_000),
  seqLen: count.max(100_000_000),
  /** Tokens of the whole run; null = unknown, then days and cost are null too. */
  tokens: positive.nullable().default(null),
  precision: precisionSchema,
  framework: frameworkSchema,
});
export type Job = z.infer<typeof jobSchema>;
/** Adapters of a LoRA task. */
export type Adapters = z.infer<typeof lora>;

export const jobInputSchema = sparse(jobSchema.omit({ precision: true, framework: true, lora: true })).extend({
  lora: sparse(lora).nullable().optional(),
  precision: precisionSchema.partial().optional(),
  framework: sparse(frameworkSchema).optional(),
});
export type JobInput = z.input<typeof jobInputSchema>;

export const objectives = ['throughput', 'time', 'cost', 'energy', 'memory-headroom', 'robust'] as const;

/** Pins narrow the plan space; a product of lists beyond this is a slip, and would fill memory. */
const MOST_COMBINATIONS = 10_000;

/** Allowed values per plan path, e.g. `{ tp: [8], "recompute.mode": ["full"] }`. */
const choices = z
  .record(
    z.string(),
    z
      .array(z.union([z.number(), z.string(), z.boolean()]))
      .min(1)
      .max(64),
  )
  .refine((lists) => Object.values(lists).reduce((product, list) => product * list.length, 1) <= MOST_COMBINATIONS, {
    error: `must not name more than ${MOST_COMBINATIONS} combinations of values`,
  });

export const constraintsSchema = z.strictObject({
  /** Share of usable memory that must stay free for a plan to count as fitting. */
  headroomFraction: fraction.max(0.9).default(0.08),
  pin: choices.default({}),
  exclude: choices.default({}),
  maxAccelerators: count.nullable().default(null),
  minMfu: fraction.nullable().default(null),
});
export type Constraints = z.infer<typeof constraintsSchema>;
