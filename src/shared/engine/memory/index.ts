/**
 * Bytes that one accelerator of each pipeline stage holds at its peak, by category.
 *
 * Legend: s = seqLen, b = microBatchSize, h = hiddenSize, f = ffnHiddenSize, a/k = heads/KV heads, dh = headDim,
 * V = padded vocabulary, t = tp, d = dp. Activations are 2-byte.
 * Source: MODEL §3 (Korthikanti et al. 2022 eqs. 1–6; tensor lists in MODEL §3.4–3.5), in-flight counts §3.6.
 */
import type { Plan, StageMemory } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { pipelineShape, scheduleOf } from '../pipeline/schedules/index.ts';
import { residentRanksOf, type RankContent } from '../stages.ts';
import { kindActivations } from './activations.ts';
import {
  contextBuffers,
  deepSpeedItems,
  deviceItems,
  expertBuffers,
  gradientStandIns,
  matmulWorkspaces,
  pipelineBuffers,
  stageOutputs,
} from './buffers.ts';
import { endItems, lossItems } from './ends.ts';
import { bytesOf, type MemoryItem } from './items.ts';
import { stateItems } from './states.ts';
import { stackOf } from '../../layer-stack.ts';
import { rankParameters } from '../workload/parameters.ts';

export { layerActivationBytes, type LayerActivationBytes } from './activations.ts';
export { reclaimableBytes } from './buffers.ts';
export { hostBytesPerNode, hostHolds } from './host.ts';
export type { MemoryItem } from './items.ts';

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

/**
 * The worst moment of backward in one layer: its activations computed again, the sequence gathered for its matmuls, and the
 * gradients of its largest tensor beside that of its input.
 */
function layerWorkItems(problem: Problem, plan: Plan, working: number): MemoryItem[] {
  const { model, workload } = problem;
  const boundary = 2 * (workload.seqLen / plan.cp) * plan.microBatchSize * model.hiddenSize;
  const items: MemoryItem[] = [];
  const add = (label: string, bytes: number, source: string) =>
    bytes > 0 && items.push({ category: 'workspace', label, bytes, source });
  add('One layer being recomputed', working, 'docs/MODEL.md §3.3');
  if (plan.tp > 1 && plan.sequenceParallel)
    add('Gathered sequence of one layer', 2 * boundary, 'Korthikanti et al. 2022 §4.2.2 (docs/MODEL.md §3.7)');
  return items;
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
  const kept = [...layers.items, ...endItems(problem, plan, rank, inFlight)];
  // the loss is computed before the first layer's backward: the larger of the two moments is the peak
  const moments = [lossItems(problem, plan, rank), layerWorkItems(problem, plan, layers.working)];
  const moment = moments.reduce((most, one) => (bytesOf(one) > bytesOf(most) ? one : most));
  const buffers = [
    ...moment,
    ...expertBuffers(problem, plan),
    ...contextBuffers(problem, plan),
    ...pipelineBuffers(problem, plan),
    ...stageOutputs(problem, plan, inFlight),
    ...deepSpeedItems(problem, plan, held.dense + held.experts),
  ];
  const allocated = [
    ...stateItems(problem, plan, rank, held),
    ...weightVersionItems(problem, schedule.weightVersions - 1, held.dense + held.experts),
    ...kept,
    ...buffers,
    ...gradientStandIns(problem, plan, rank),
    ...matmulWorkspaces(problem),
  ];
  return [...allocated, ...deviceItems(problem, plan, bytesOf(allocated))];
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

/**
 * Stages one of which holds most. Where in-flight micro-batches fall along the pipeline, of stages with the same layers and
 * ends the first holds most; elsewhere any may.
 */
function candidates(problem: Problem, plan: Plan): number[] {
  const { placement, modelCopies } = scheduleOf(plan);
  const stages = Array.from({ length: plan.pp }, (_, stage) => stage);
  if (placement === 'down-and-up' || modelCopies > 1) return stages;
  const seen = new Set<string>();
  const ranks = residentRanksOf(problem.model, plan) ?? [];
  return stages.filter((stage) => {
    const rank = ranks[stage];
    if (rank === undefined) return false;
    const { counts, hasEmbedding, hasHead, mtpLayers } = rank;
    const content = `${counts.join(' ')} ${hasEmbedding ? 'E' : ''}${hasHead ? 'L' : ''}${mtpLayers}`;
    return !seen.has(content) && seen.add(content);
  });
}

const candidatesByRanks = new WeakMap<object, number[]>();

/** The stage that holds most. */
export function fullestStage(problem: Problem, plan: Plan): StageMemory {
  const ranks = residentRanksOf(problem.model, plan);
  let stages = ranks === null ? [0] : candidatesByRanks.get(ranks);
  if (stages === undefined) {
    stages = candidates(problem, plan);
    if (ranks !== null) candidatesByRanks.set(ranks, stages);
  }
  let fullest = stageMemory(problem, plan, 0);
  for (const stage of stages) {
    if (stage === 0) continue;
    const memory = stageMemory(problem, plan, stage);
    if (memory.totalBytes > fullest.totalBytes) fullest = memory;
  }
  return fullest;
}
