/**
 * Bytes that one accelerator of each pipeline stage holds at its peak, by category.
 *
 * Legend: s = seqLen, b = microBatchSize, h = hiddenSize, f = ffnHiddenSize, a/k = heads/KV heads, dh = headDim,
 * V = padded vocabulary, t = tp, d = dp. Activations are 2-byte.
 * Source: MODEL §3 (Korthikanti et al. 2022 eqs. 1–6; tensor lists in MODEL §3.4–3.5), in-flight counts §3.6.
 */
import type { Plan, StageMemory } from '../../schema/index.ts';
import { GIB } from '../../units.ts';
import type { Problem } from '../problem.ts';
import { pipelineShape, scheduleOf } from '../pipeline/schedules/index.ts';
import { residentRanksOf, type RankContent } from '../stages.ts';
import { kindActivations } from './activations.ts';
import type { MemoryItem } from './items.ts';
import { hostStateBytes, stateItems } from './states.ts';
import { stackOf } from '../../layer-stack.ts';
import { paddedVocabSize, rankParameters } from '../workload/parameters.ts';

/** CUDA context and loaded kernels of one process. Source: MODEL §3.7, 0.5–0.9 GiB by version. */
export const CONTEXT_BYTES = 0.8 * GIB;
/** Buffers of the collective library where there is more than one rank. Source: MODEL §3.7, 0.34–0.4 GiB a communicator set. */
export const COMMUNICATOR_BYTES = 0.6 * GIB;
/** Share of activations lost between allocator blocks. Source: MODEL §3.7, 3–10 % without expandable segments. */
const FRAGMENTATION_FRACTION = 0.04;
const EXPANDABLE_FRAGMENTATION_FRACTION = 0.01;

export { layerActivationBytes, type LayerActivationBytes } from './activations.ts';
export type { MemoryItem } from './items.ts';

/** Activations beyond the layers: embedding output on the first stage, norm, head input and logits on the last. */
function endItems(problem: Problem, plan: Plan, rank: RankContent, inFlight: number): MemoryItem[] {
  const { model, workload } = problem;
  const tokens = (workload.seqLen / plan.cp) * plan.microBatchSize;
  const shard = plan.sequenceParallel ? plan.tp : 1;
  const items: MemoryItem[] = [];
  if (rank.hasEmbedding) {
    const perToken = 8 + (2 + (model.dropout ? 1 : 0)) * (model.hiddenSize / shard);
    items.push({
      category: 'activations',
      label: 'Token ids and embedding output',
      bytes: tokens * perToken * inFlight,
      source: 'docs/MODEL.md §3.5',
    });
  }
  if (rank.hasHead) {
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
      // multi-token prediction computes the head once more for each further token
      bytes: logits * (1 + rank.mtpLayers) * (plan.runtime.fusedCrossEntropy ? 4 : 6),
      source: 'docs/MODEL.md §3.5',
    });
  }
  return items;
}

function workspaceItems(problem: Problem, plan: Plan, working: number, activations: number): MemoryItem[] {
  const { model, workload, network } = problem;
  const boundary = 2 * (workload.seqLen / plan.cp) * plan.microBatchSize * model.hiddenSize;
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
  const { kinds, names } = stackOf(problem.model);
  const { label } = scheduleOf(plan);
  const onDevice = 1 - plan.offload.activations;
  const list = kindActivations(problem, plan, rank);
  const items = list.map(({ kind, count, kept }): MemoryItem => {
    const name = kinds.length === 1 ? 'layers' : `layers (${names[kind] ?? ''})`;
    return {
      category: 'activations',
      label: `${count} ${name} × ${inFlight} micro-batches in flight`,
      bytes: inFlight * kept * onDevice,
      source: `tensors of Korthikanti et al. 2022 §4.1; in flight by ${label} (docs/MODEL.md §3.4, §3.6)`,
    };
  });
  return { items, working: Math.max(0, ...list.map(({ working }) => working)) };
}

/** Weights of earlier updates that micro-batches in flight still work with. */
function weightVersionItems({ workload }: Problem, versions: number, parameters: number): MemoryItem[] {
  if (versions === 0) return [];
  const bytes = versions * workload.weightBytesPerParameter * parameters;
  return [{ category: 'weights', label: 'Earlier version of the weights', bytes, source: 'docs/MODEL.md §6' }];
}

/** Buffers of the exchange with the ranks of other experts: rows sent and received, forward and backward in turn. */
function expertBuffers(problem: Problem, plan: Plan): MemoryItem[] {
  const { model, workload } = problem;
  if (plan.ep === 1) return [];
  const tokens = ((workload.seqLen / plan.cp) * plan.microBatchSize) / (plan.sequenceParallel ? plan.tp : 1);
  const copies = Math.max(0, ...stackOf(model).kinds.map(({ ffn }) => (ffn.type === 'moe' ? ffn.expertsPerToken : 0)));
  if (copies === 0) return [];
  return [
    {
      category: 'workspace',
      label: 'Tokens sent to and received from experts',
      bytes: 2 * 2 * tokens * copies * model.hiddenSize,
      source: 'docs/MODEL.md §3.4',
    },
  ];
}

/** Keys and values of other cp ranks that are there at once: all of them after an all-gather, two chunks in a ring. */
function contextBuffers(problem: Problem, plan: Plan): MemoryItem[] {
  const { model, workload } = problem;
  if (plan.cp === 1 || plan.cpMethod === 'ulysses') return [];
  const width = (2 * model.numKvHeads * model.headDim) / Math.min(plan.tp, model.numKvHeads);
  const chunks = plan.cpMethod === 'all-gather' ? plan.cp : 2;
  return [
    {
      category: 'workspace',
      label: 'Keys and values of other CP ranks',
      bytes: 2 * chunks * (workload.seqLen / plan.cp) * plan.microBatchSize * width,
      source: 'docs/MODEL.md §3.4',
    },
  ];
}

/** Every item of memory on one accelerator of stage `stageIndex` (0-based) at its peak. The plan must be valid. */
export function stageMemoryItems(problem: Problem, plan: Plan, stageIndex: number): MemoryItem[] {
  const { model, workload } = problem;
  const rank = residentRanksOf(model, plan)?.[stageIndex];
  if (rank === undefined) throw new Error(`memory of an invalid layout: ${JSON.stringify(plan.layout)}`);
  const numMicroBatches = workload.globalBatchSize / (plan.dp * plan.microBatchSize);
  const schedule = scheduleOf(plan);
  const inFlight = schedule.inFlight(pipelineShape(plan, numMicroBatches), stageIndex);
  const held = rankParameters(model, plan, rank);
  const layers = layerItems(problem, plan, rank, inFlight);
  const items = [...layers.items, ...endItems(problem, plan, rank, inFlight)];
  const activations = items
    .filter((item) => item.category === 'activations')
    .reduce((sum, item) => sum + item.bytes, 0);
  return [
    ...stateItems(problem, plan, rank, held),
    ...weightVersionItems(problem, schedule.weightVersions - 1, held.dense + held.experts),
    ...items,
    ...expertBuffers(problem, plan),
    ...contextBuffers(problem, plan),
    ...workspaceItems(problem, plan, layers.working, activations),
  ];
}

/** Bytes of host memory that one rank of a stage needs for what is offloaded. */
export function hostBytes(problem: Problem, plan: Plan, stageIndex: number): number {
  const rank = residentRanksOf(problem.model, plan)?.[stageIndex];
  if (rank === undefined) return 0;
  const states = hostStateBytes(problem, plan, rankParameters(problem.model, plan, rank));
  if (plan.offload.activations === 0) return states;
  const numMicroBatches = problem.workload.globalBatchSize / (plan.dp * plan.microBatchSize);
  const inFlight = scheduleOf(plan).inFlight(pipelineShape(plan, numMicroBatches), stageIndex);
  const kept = kindActivations(problem, plan, rank).reduce((sum, one) => sum + one.kept, 0);
  return states + plan.offload.activations * inFlight * kept;
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
  const { model } = problem;
  const isUniform = isFalling && plan.layout === null && stackOf(model).kinds.length === 1 && model.mtpLayers === 0;
  // in-flight micro-batches fall from the first stage to the last: of equal middle stages the second holds most
  const others = isUniform ? [1, plan.pp - 1] : Array.from({ length: plan.pp }, (_, stage) => stage);
  for (const stageIndex of new Set(others)) {
    if (stageIndex < 1 || stageIndex >= plan.pp) continue;
    const stage = stageMemory(problem, plan, stageIndex);
    if (stage.totalBytes > fullest.totalBytes) fullest = stage;
  }
  return fullest;
}
