/**
 * What a rank needs beside states and kept activations: buffers of the split, workspaces of libraries, the process itself.
 * Legend: s = seqLen, b = microBatchSize, h hidden, f width of the feed-forward part, t = tp. Source: MODEL §3.7.
 */
import { stackOf } from '../../layer-stack.ts';
import type { Model, Plan } from '../../schema/index.ts';
import { GIB, MIB } from '../../units.ts';
import type { Device, Problem } from '../problem.ts';
import { forEach } from '../remember.ts';
import { partParameters } from '../workload/parts/index.ts';
import type { MemoryItem, MemorySink, StageHolding } from './items.ts';

/** CUDA context and loaded kernels of one process. Source: MODEL §3.7, 0.5–0.9 GiB by version. */
const CONTEXT_BYTES = 0.8 * GIB;
/** Buffers of the collective library where there is more than one rank. Source: MODEL §3.7, 0.34–0.4 GiB a communicator set. */
const COMMUNICATOR_BYTES = 0.6 * GIB;
/** What the allocator reserves beyond what is allocated, as a share of that: blocks that no tensor fits into. Source: MODEL
 * §3.7 (3–10 %); median of 40 runs of SimuMax on B200, 2.8–9.3 %. */
const FRAGMENTATION_FRACTION = 0.05;
const EXPANDABLE_FRAGMENTATION_FRACTION = 0.01;

const SOURCE = 'docs/MODEL.md §3.7';

const tokensOf = ({ workload }: Problem, { cp, microBatchSize }: Plan): number =>
  (workload.seqLen / cp) * microBatchSize;

/**
 * Workspaces that matmul libraries keep: cuBLAS one for the forward and one for the backward thread, Transformer Engine one
 * of its own and four more for the streams of a grouped matmul.
 * Source: PyTorch CublasHandlePool.cpp (32 MiB from Hopper on, 8.125 MiB before), Transformer Engine module/base.py
 * (32 MiB from Hopper on, 4 MiB before; 4 streams); both agree with byte-exact peaks of Megatron-Core's tests to 1 MiB.
 */
const WORKSPACE_BYTES = {
  recent: { cublas: 32 * MIB, engine: 32 * MIB },
  older: { cublas: 8.125 * MIB, engine: 4 * MIB },
};
const GROUPED_STREAMS = 4;
/** Parts before Hopper, by the curves that they have or borrow. */
const OLDER_PARTS: ReadonlySet<string> = new Set(['a100-sxm', 'l40s']);

export function addMatmulWorkspaces(into: MemorySink, { problem: { device, model } }: StageHolding): void {
  const { cublas, engine } = WORKSPACE_BYTES[isRecent(device) ? 'recent' : 'older'];
  const isGrouped = stackOf(model).kinds.some(({ ffn }) => ffn.type === 'moe');
  const bytes = 2 * cublas + engine * (1 + (isGrouped ? GROUPED_STREAMS : 0));
  into.add('workspace', bytes, 'Workspaces of matmul libraries', SOURCE);
}

const isRecent = ({ kernelCurves }: Device): boolean => !OLDER_PARTS.has(kernelCurves);

/** Elements of matrices by how a split treats them; of routed experts one. */
interface Shapes {
  sharded: number;
  replicated: number;
  expert: number;
}

/** Shapes by model and list of counts: a pipeline's contents keep theirs, which are never changed in place. */
const shapesByCounts = forEach<Model, WeakMap<readonly number[], Shapes>>(() => new WeakMap());

/** Sizes of the matrices of distinct shape among the layers of the given kinds: what weight gradients come in. */
function gradientShapes(model: Model, counts: readonly number[]): Shapes {
  const known = shapesByCounts(model);
  let found = known.get(counts);
  if (found === undefined) known.set(counts, (found = shapesOf(model, counts)));
  return found;
}

function shapesOf(model: Model, counts: readonly number[]): Shapes {
  const parts = new Map<string, Shapes>();
  const none = { type: 'none' } as const;
  const around = { norms: 0, parallel: false, otherParameters: 0 };
  for (const { mixer, ffn } of stackOf(model).kinds.filter((_, kind) => (counts[kind] ?? 0) > 0)) {
    const list = [
      { spec: mixer, size: partParameters({ mixer, ffn: none, ...around }, model), experts: 1 },
      {
        spec: ffn,
        size: partParameters({ mixer: none, ffn, ...around }, model),
        experts: ffn.type === 'moe' ? ffn.numExperts : 1,
      },
    ];
    for (const { spec, size, experts } of list)
      parts.set(JSON.stringify(spec), {
        sharded: size.sharded,
        replicated: size.replicated,
        expert: size.routed / experts,
      });
  }
  const sum = (of: (one: Shapes) => number) => [...parts.values()].reduce((total, one) => total + of(one), 0);
  return { sharded: sum((o) => o.sharded), replicated: sum((o) => o.replicated), expert: sum((o) => o.expert) };
}

/**
 * Stand-ins for weight gradients: where matmuls add into the accumulated gradient themselves, autograd is handed a 16-bit
 * tensor of each weight's shape, kept from step to step. Source: Transformer Engine get_dummy_wgrad (module/base.py).
 */
export function addGradientStandIns(into: MemorySink, { problem, plan, rank }: StageHolding): void {
  if (plan.sharding.zeroStage > 1 || problem.workload.weightBytesPerParameter > 2) return;
  const { sharded, replicated, expert } = gradientShapes(problem.model, rank.counts);
  const elements = sharded / plan.tp + replicated + expert / plan.etp;
  into.add('workspace', 2 * elements, '16-bit stand-ins for weight gradients of one layer', SOURCE);
}

/** Buffers of the exchange with the ranks of other experts: rows sent and received, forward and backward in turn. */
export function addExpertBuffers(into: MemorySink, { problem, plan }: StageHolding): void {
  if (plan.ep === 1) return;
  const tokens = tokensOf(problem, plan) / (plan.sequenceParallel ? plan.tp : 1);
  const widths = stackOf(problem.model).kinds.map(({ ffn }) =>
    ffn.type === 'moe' ? ffn.expertsPerToken * (ffn.latentSize ?? problem.model.hiddenSize) : 0,
  );
  const bytes = 2 * 2 * tokens * Math.max(0, ...widths);
  into.add('workspace', bytes, 'Tokens sent to and received from experts', 'docs/MODEL.md §3.4');
}

/** Keys and values of other cp ranks that are there at once: all of them after an all-gather, two chunks in a ring. */
export function addContextBuffers(into: MemorySink, { problem, plan }: StageHolding): void {
  const { model } = problem;
  if (plan.cp === 1 || plan.cpMethod === 'ulysses') return;
  const width = (2 * model.numKvHeads * model.headDim) / Math.min(plan.tp, model.numKvHeads);
  const chunks = plan.cpMethod === 'all-gather' ? plan.cp : 2;
  const bytes = 2 * chunks * tokensOf(problem, plan) * width;
  into.add('workspace', bytes, 'Keys and values of other CP ranks', 'docs/MODEL.md §3.4');
}

/** Elements of DeepSpeed's buckets. Source: its configuration's defaults reduce_bucket_size and allgather_bucket_size. */
const DEEPSPEED_BUCKET_ELEMENTS = 5e8;

/**
 * What DeepSpeed holds beside what others do: a bucket of 16-bit gradients being reduced and one of weights being gathered,
 * and where gradients accumulate in fp32 the 16-bit ones as well. Source: DeepSpeed runtime/zero/stage_1_and_2.py,
 * runtime/bf16_optimizer.py.
 */
export function addDeepSpeedItems(into: MemorySink, { problem, plan, held }: StageHolding): void {
  const { framework, workload } = problem;
  if (framework.family !== 'deepspeed') return;
  const isSharded = plan.sharding.zeroStage > 0 && plan.dp * plan.cp > 1;
  const both = workload.weightBytesPerParameter === 2 && workload.gradientBytesPerParameter === 4;
  const buckets = isSharded ? 2 * 2 * DEEPSPEED_BUCKET_ELEMENTS : 0;
  into.add('workspace', buckets, 'Buckets of gradients and weights on their way', SOURCE);
  const narrow = both ? 2 * (held.dense + held.experts) : 0;
  into.add('workspace', narrow, '16-bit gradients beside the fp32 ones', SOURCE);
}

/** Year from which Megatron-LM frees a stage's output once it is sent (Korthikanti et al. 2022, appendix B). */
const FREED_OUTPUT_YEAR = 2023;

/** Outputs of a stage, one for each micro-batch in flight, where the stack keeps them until their backward. */
export function addStageOutputs(into: MemorySink, { problem, plan }: StageHolding): void {
  const { framework, workload, model } = problem;
  const areKept = framework.family === 'deepspeed' || workload.stackYear < FREED_OUTPUT_YEAR;
  if (plan.pp === 1 || !areKept) return;
  const shard = plan.sequenceParallel ? plan.tp : 1;
  const bytes = (2 * tokensOf(problem, plan) * model.hiddenSize) / shard;
  into.addPerMicroBatch('workspace', bytes, 'Outputs of the stage', SOURCE);
}

/** Tensors on their way between stages. */
export function addPipelineBuffers(into: MemorySink, { problem, plan }: StageHolding): void {
  if (plan.pp === 1) return;
  const boundary = 2 * tokensOf(problem, plan) * problem.model.hiddenSize;
  const bytes = (4 * boundary) / (plan.sequenceParallel ? plan.tp : 1);
  into.add('workspace', bytes, 'Pipeline send and receive buffers', SOURCE);
}

/** What the allocator reserves beyond what is allocated, as a share of that. */
export const fragmentationFraction = ({ runtime }: Plan): number =>
  runtime.expandableSegments ? EXPANDABLE_FRAGMENTATION_FRACTION : FRAGMENTATION_FRACTION;

/** What the process holds outside the framework's allocator. */
export const processItems = ({ network }: Problem): { label: string; bytes: number }[] => [
  { label: 'Device context', bytes: CONTEXT_BYTES },
  ...(network.numAccelerators > 1 ? [{ label: 'Collective library', bytes: COMMUNICATOR_BYTES }] : []),
];

/** Bytes that the process holds outside the framework's allocator. */
export const processBytes = ({ network }: Problem): number =>
  CONTEXT_BYTES + (network.numAccelerators > 1 ? COMMUNICATOR_BYTES : 0);

/**
 * What of a peak the allocator can give back before it fails: when the device refuses it more, it frees the blocks that no
 * tensor lies in and asks again. Source: PyTorch CUDACachingAllocator.cpp (release_cached_blocks).
 */
export function reclaimableBytes(problem: Problem, plan: Plan, peakBytes: number): number {
  const share = fragmentationFraction(plan);
  return (Math.max(0, peakBytes - processBytes(problem)) * share) / (1 + share);
}

/** What the process holds outside the framework's allocator, and what the allocator loses. */
export function deviceItems(problem: Problem, plan: Plan, allocatedBytes: number): MemoryItem[] {
  const share = fragmentationFraction(plan);
  const lost: MemoryItem = {
    ...{ category: 'workspace', label: 'Allocator fragmentation', bytes: share * allocatedBytes, seenBy: 'reserved' },
    source: `${share * 100} % of what is allocated (docs/MODEL.md §3.7)`,
  };
  const held = processItems(problem).map((one): MemoryItem => ({
    ...one,
    category: 'workspace',
    source: SOURCE,
    seenBy: 'device',
  }));
  return [lost, ...held];
}
