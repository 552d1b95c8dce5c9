/** One complete way to run a job on a cluster (docs/FORMATS.md §2). */
import { z } from 'zod';
import { count, fraction } from './primitives.ts';

export const scheduleNames = [
  'gpipe',
  '1f1b',
  'interleaved-1f1b',
  'interleaved-bfs',
  'pipedream-2bw',
  'zb-h1',
  'zb-h2',
  'zb-v',
  'v-half',
  'v-min',
  'dualpipe',
  'dualpipe-v',
  'custom',
] as const;

export const recomputeModes = ['none', 'selective', 'full'] as const;
export const recomputeModules = [
  'core-attention',
  'mlp',
  'norms',
  'moe-activation',
  'moe',
  'mla-up-projection',
  'shared-experts',
] as const;

const schedule = z.strictObject({ name: z.enum(scheduleNames), groupSize: count.nullable() });
const recompute = z.strictObject({
  mode: z.enum(recomputeModes),
  modules: z.array(z.enum(recomputeModules)),
  layersPerStage: count.nullable(),
});
const sharding = z.strictObject({
  zeroStage: z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)]),
  group: z.union([z.literal('dp'), z.literal('dp-cp'), z.strictObject({ size: count })]),
  reshardAfterForward: z.boolean(),
});
const overlap = z.strictObject({
  tp: z.boolean(),
  gradReduce: z.boolean(),
  paramGather: z.boolean(),
  pipeline: z.boolean(),
  expert: z.boolean(),
});
const offload = z.strictObject({ optimizer: fraction, weights: fraction, activations: fraction });
const runtime = z.strictObject({
  /**
   * How the loss is computed: false = kernel by kernel; true = one kernel that writes the gradient over the logits;
   * `compiled` = fused by a compiler, which keeps copies; `chunked` = head and loss together, some tokens at a time.
   */
  fusedCrossEntropy: z.union([z.boolean(), z.enum(['compiled', 'chunked'])]),
  cudaGraphs: z.enum(['none', 'per-layer', 'full']),
  expertDispatcher: z.enum(['alltoall', 'allgather', 'deepep', 'hybridep']),
  /** `dropless`: each expert takes the tokens it is sent; `padded`: as many as its capacity, the rest dropped, the gaps filled. */
  expertCapacity: z.enum(['dropless', 'padded']),
  /** Tokens of the fullest expert-parallel rank over their mean. */
  expertImbalance: z.number().min(1).max(1000),
  expandableSegments: z.boolean(),
  /** Norms, activations, rotation and residual sums in fused kernels (Megatron-LM, torch.compile, XLA), not one by one. */
  fusedKernels: z.boolean(),
  /** Without sequence parallelism a tp rank sends only its share of a boundary, which the next stage gathers. */
  scatterGather: z.boolean(),
  /**
   * `flash` never stores the s×s scores, in the fastest kernel there is for the part (cuDNN, FlashAttention-3); `flash-2` is
   * the second generation of 2023 and of PyTorch's own; `unfused` is the batched-matmul attention of stacks before 2023.
   */
  attentionKernel: z.enum(['flash', 'flash-2', 'unfused']),
});

/** Every field of a plan; degrees are 1 where unused. tp·pp·cp·dp = the number of accelerators. */
export const planSchema = z.strictObject({
  tp: count,
  pp: count,
  cp: count,
  ep: count,
  etp: count,
  dp: count,
  vpp: count,
  microBatchSize: count,
  sequenceParallel: z.boolean(),
  schedule,
  recompute,
  sharding,
  cpMethod: z.enum(['ring', 'all-gather', 'ulysses', 'hierarchical']),
  overlap,
  offload,
  layout: z.union([z.string(), z.array(z.array(z.string()))]).nullable(),
  rankOrder: z.string(),
  runtime,
});
export type Plan = z.infer<typeof planSchema>;

/** A plan as given by hand: what is absent takes the framework's default, dp follows from the rest. */
export const planInputSchema = planSchema
  .omit({ schedule: true, recompute: true, sharding: true, overlap: true, offload: true, runtime: true })
  .partial()
  .extend({
    schedule: schedule.partial().optional(),
    recompute: recompute.partial().optional(),
    sharding: sharding.partial().optional(),
    overlap: overlap.partial().optional(),
    offload: offload.partial().optional(),
    runtime: runtime.partial().optional(),
  });
export type PlanInput = z.infer<typeof planInputSchema>;
