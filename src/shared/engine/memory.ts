/**
 * Bytes that one accelerator of each pipeline stage holds at its peak, by category.
 *
 * Legend: s = seqLen, b = microBatchSize, h = hiddenSize, f = ffnHiddenSize, a/k = heads/KV heads, dh = headDim,
 * V = padded vocabulary, t = tp, d = dp. Activations are 2-byte.
 * Source: MODEL §3 (Korthikanti et al. 2022 eqs. 1–6; tensor lists in MODEL §3.4–3.5), in-flight counts §3.6.
 */
import type { LayerKind, MemoryCategory, Model, Plan, StageMemory } from '../schema/index.ts';
import { GIB } from '../units.ts';
import type { Problem } from './problem.ts';
import { pipelineShape, scheduleOf } from './pipeline/schedules/index.ts';
import { residentRanksOf, type RankContent } from './stages.ts';
import { layerTensors } from './workload/layer.ts';
import { stackOf } from '../layer-stack.ts';
import { paddedVocabSize, rankParameters } from './workload/parameters.ts';

/** CUDA context and loaded kernels of one process. Source: MODEL §3.7, 0.5–0.9 GiB by version. */
export const CONTEXT_BYTES = 0.8 * GIB;
/** Buffers of the collective library where there is more than one rank. Source: MODEL §3.7, 0.34–0.4 GiB a communicator set. */
export const COMMUNICATOR_BYTES = 0.6 * GIB;
/** Share of activations lost between allocator blocks. Source: MODEL §3.7, 3–10 % without expandable segments. */
const FRAGMENTATION_FRACTION = 0.04;
const EXPANDABLE_FRAGMENTATION_FRACTION = 0.01;

/** Bytes by what they are, for one item of a category. */
export interface MemoryItem {
  category: MemoryCategory;
  label: string;
  bytes: number;
  source: string;
}

/** Bytes of activations that one layer keeps for one micro-batch, by recomputation mode. */
export interface LayerActivationBytes {
  /** Kept from forward to backward. */
  kept: number;
  /** Needed while one layer is recomputed, on top of what is kept. */
  working: number;
}

/** What one layer of a kind keeps for one micro-batch under the plan's recomputation. */
export function layerActivationBytes(model: Model, kind: LayerKind, plan: Plan, seqLen: number): LayerActivationBytes {
  const tokens = (seqLen / plan.cp) * plan.microBatchSize;
  const { mode, modules } = plan.recompute;
  let kept = 0;
  let dropped = 0;
  for (const tensor of layerTensors(kind, { model, plan, seqLen })) {
    const isDropped = mode === 'selective' && tensor.modules.some((module) => modules.includes(module));
    if (isDropped) dropped += tokens * tensor.bytesPerToken;
    else kept += tokens * tensor.bytesPerToken;
  }
  if (mode !== 'full') return { kept, working: dropped };
  const input = (2 * model.hiddenSize * tokens) / (plan.sequenceParallel ? plan.tp : 1);
  return { kept: input, working: kept };
}

/** Bytes of weights, gradients and optimizer states of `parameters` held by one rank. Source: MODEL §3.1. */
function stateItems(problem: Problem, plan: Plan, parameters: number): MemoryItem[] {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, optimizerBytesPerParameter: o } = problem.workload;
  const shards = plan.sharding.zeroStage >= 1 ? plan.dp : 1;
  const source = 'bytes per parameter (docs/MODEL.md §3.1)';
  return [
    { category: 'weights', label: `Weights, ${w} B each`, bytes: w * parameters, source },
    { category: 'gradients', label: `Gradients, ${g} B each`, bytes: g * parameters, source },
    {
      category: 'optimizer',
      label: `Adam with fp32 master weights, ${o} B each${shards > 1 ? ` ÷ ${shards} DP ranks` : ''}`,
      bytes: (o * parameters) / shards,
      source,
    },
  ];
}

/** Weights of earlier updates that micro-batches in flight still work with. */
function weightVersionItems({ workload }: Problem, versions: number, parameters: number): MemoryItem[] {
  if (versions === 0) return [];
  const bytes = versions * workload.weightBytesPerParameter * parameters;
  return [{ category: 'weights', label: 'Earlier version of the weights', bytes, source: 'docs/MODEL.md §6' }];
}

/** Activations beyond the layers: embedding output on the first stage, norm, head input and logits on the last. */
function endItems(
  problem: Problem,
  plan: Plan,
  place: { isFirst: boolean; isLast: boolean },
  inFlight: number,
): MemoryItem[] {
  const { model, workload } = problem;
  const tokens = workload.seqLen * plan.microBatchSize;
  const shard = plan.sequenceParallel ? plan.tp : 1;
  const items: MemoryItem[] = [];
  if (place.isFirst) {
    const perToken = 8 + (2 + (model.dropout ? 1 : 0)) * (model.hiddenSize / shard);
    items.push({
      category: 'activations',
      label: 'Token ids and embedding output',
      bytes: tokens * perToken * inFlight,
      source: 'docs/MODEL.md §3.5',
    });
  }
  if (place.isLast) {
    items.push({
      category: 'activations',
      label: 'Final norm and head inputs',
      bytes: (4 * model.hiddenSize * tokens) / shard,
      source: 'Korthikanti et al. 2022 §4.3 (docs/MODEL.md §3.5)',
    });
    const logits = (paddedVocabSize(model, plan.tp) / plan.tp) * tokens;
    items.push({
      category: 'workspace',
      label: plan.runtime.fusedCrossEntropy
        ? 'Logits (16-bit and their gradient)'
        : 'Logits in 16-bit and fp32, softmax',
      bytes: logits * (plan.runtime.fusedCrossEntropy ? 4 : 6),
      source: 'docs/MODEL.md §3.5',
    });
  }
  return items;
}

function workspaceItems(problem: Problem, plan: Plan, working: number, activations: number): MemoryItem[] {
  const { model, workload, network } = problem;
  const boundary = 2 * workload.seqLen * plan.microBatchSize * model.hiddenSize;
  const items: MemoryItem[] = [];
  const add = (label: string, bytes: number, source: string) =>
    bytes > 0 && items.push({ category: 'workspace', label, bytes, source });
  add('One layer being recomputed', working, 'docs/MODEL.md §3.3');
  if (plan.tp > 1 && plan.sequenceParallel)
    add('Gathered sequence of one layer', 2 * boundary, 'Korthikanti et al. 2022 §4.2.2 (docs/MODEL.md §3.7)');
  if (plan.pp > 1)
    add(
      'Pipeline send and receive buffers',
      (4 * boundary) / (plan.sequenceParallel ? plan.tp : 1),
      'docs/MODEL.md §3.7',
    );
  add('Device context', CONTEXT_BYTES, 'docs/MODEL.md §3.7');
  if (network.numAccelerators > 1) add('Collective library', COMMUNICATOR_BYTES, 'docs/MODEL.md §3.7');
  const share = plan.runtime.expandableSegments ? EXPANDABLE_FRAGMENTATION_FRACTION : FRAGMENTATION_FRACTION;
  add(
    'Allocator fragmentation',
    share * (activations + working),
    `${share * 100} % of activations (docs/MODEL.md §3.7)`,
  );
  return items;
}

/** Activations of the layers of one rank, by kind, and the most that recomputing one of them needs. */
function layerItems(problem: Problem, plan: Plan, rank: RankContent, inFlight: number) {
  const { model, workload } = problem;
  const stack = stackOf(model);
  const { label } = scheduleOf(plan);
  const items: MemoryItem[] = [];
  let working = 0;
  stack.kinds.forEach((kind, index) => {
    const count = rank.counts[index] ?? 0;
    if (count === 0) return;
    const layer = layerActivationBytes(model, kind, plan, workload.seqLen);
    working = Math.max(working, layer.working);
    const name = stack.kinds.length === 1 ? 'layers' : `layers (${stack.names[index]})`;
    items.push({
      category: 'activations',
      label: `${count} ${name} × ${inFlight} micro-batches in flight`,
      bytes: count * inFlight * layer.kept,
      source: `tensors of Korthikanti et al. 2022 §4.1; in flight by ${label} (docs/MODEL.md §3.4, §3.6)`,
    });
  });
  return { items, working };
}

/** Every item of memory on one accelerator of stage `stageIndex` (0-based) at its peak. The plan must be valid. */
export function stageMemoryItems(problem: Problem, plan: Plan, stageIndex: number): MemoryItem[] {
  const { model, workload } = problem;
  const rank = residentRanksOf(model, plan)?.[stageIndex];
  if (rank === undefined) throw new Error(`memory of an invalid layout: ${JSON.stringify(plan.layout)}`);
  const place = { isFirst: rank.hasEmbedding, isLast: rank.hasHead };
  const numMicroBatches = workload.globalBatchSize / (plan.dp * plan.microBatchSize);
  const schedule = scheduleOf(plan);
  const inFlight = schedule.inFlight(pipelineShape(plan, numMicroBatches), stageIndex);
  const layers = layerItems(problem, plan, rank, inFlight);
  const items = [...layers.items, ...endItems(problem, plan, place, inFlight)];
  const activations = items
    .filter((item) => item.category === 'activations')
    .reduce((sum, item) => sum + item.bytes, 0);
  const { dense, experts } = rankParameters(model, plan, rank.counts, place);
  return [
    ...stateItems(problem, plan, dense + experts),
    ...weightVersionItems(problem, schedule.weightVersions - 1, dense + experts),
    ...items,
    ...workspaceItems(problem, plan, layers.working, activations),
  ];
}

/** Bytes by category on one accelerator of a stage. */
export function stageMemory(problem: Problem, plan: Plan, stageIndex: number): StageMemory {
  const memory: StageMemory = {
    stageIndex,
    weights: 0,
    gradients: 0,
    optimizer: 0,
    activations: 0,
    workspace: 0,
    totalBytes: 0,
  };
  for (const item of stageMemoryItems(problem, plan, stageIndex)) {
    memory[item.category] += item.bytes;
    memory.totalBytes += item.bytes;
  }
  return memory;
}

/** The stage that holds most. */
export function fullestStage(problem: Problem, plan: Plan): StageMemory {
  let fullest = stageMemory(problem, plan, 0);
  const { placement, modelCopies } = scheduleOf(plan);
  const isFalling = placement !== 'down-and-up' && modelCopies === 1;
  const isUniform = isFalling && plan.layout === null && stackOf(problem.model).kinds.length === 1;
  // in-flight micro-batches fall from the first stage to the last: of equal middle stages the second holds most
  const others = isUniform ? [1, plan.pp - 1] : Array.from({ length: plan.pp }, (_, stage) => stage);
  for (const stageIndex of new Set(others)) {
    if (stageIndex < 1 || stageIndex >= plan.pp) continue;
    const stage = stageMemory(problem, plan, stageIndex);
    if (stage.totalBytes > fullest.totalBytes) fullest = stage;
  }
  return fullest;
}
