/**
 * Host memory of a node: what its ranks offload to it, and the copy of a checkpoint that they stage. Optimizer states on the
 * host bring the gradients that update them; activations are those of the micro-batches in flight. Source: MODEL §3.1 (offload).
 */
import type { MemoryMomentId, MemoryPart, Plan } from '../../schema/index.ts';
import { pipelineShape, scheduleOf } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { splitOf } from '../split.ts';
import { distinctRanks, residentRanksOf } from '../stages.ts';
import { rankWeights } from '../workload/trained.ts';
import { kindActivations } from './activations.ts';
import { holdingOf, residentRanks } from './holding.ts';
import type { StageHolding } from './items.ts';
import { hostStateBytes } from './states.ts';

/** Bytes of host memory that one rank of a stage needs for what is offloaded. */
export function hostBytes(problem: Problem, plan: Plan, stageIndex: number): number {
  const rank = residentRanksOf(problem.model, plan)?.[stageIndex];
  if (rank === undefined) return 0;
  const { trained, frozen } = rankWeights(problem.model, problem.workload.adapters, plan, rank);
  const frozenBytes = plan.offload.weights * (frozen.dense + frozen.experts) * problem.workload.weightBytesPerParameter;
  const states = hostStateBytes(problem, plan, trained) + frozenBytes;
  if (plan.offload.activations === 0) return states;
  const numMicroBatches = problem.workload.globalBatchSize / (plan.dp * plan.microBatchSize);
  const inFlight = scheduleOf(plan).inFlight(pipelineShape(plan, numMicroBatches), stageIndex);
  const kept = kindActivations(problem, plan, rank).reduce((sum, one) => sum + one.kept, 0);
  return states + plan.offload.activations * inFlight * kept;
}

/** Bytes that a node of ranks of the neediest stage offloads to its host; 0 where nothing is offloaded. */
export function hostBytesPerNode(problem: Problem, plan: Plan): number {
  const { optimizer, weights, activations } = plan.offload;
  if (optimizer + weights + activations === 0) return 0;
  const perRank = Array.from({ length: plan.pp }, (_, stage) => hostBytes(problem, plan, stage));
  const { acceleratorsPerNode, numAccelerators } = problem.network;
  return Math.max(...perRank) * Math.min(acceleratorsPerNode, numAccelerators);
}

/**
 * Bytes that a rank stages on its host while a checkpoint is written: its share of weights and optimizer states, as far as
 * they are on the device; data-parallel ranks share the writing. Adapters are saved without the frozen weights under them,
 * a frozen tower with the model. Source: PyTorch distributed/checkpoint/staging.py,
 * Megatron-LM --ckpt-fully-parallel-save.
 */
function stagedBytes({ problem: { workload }, plan, held, frozen }: StageHolding): number {
  const {
    weightBytesPerParameter: w,
    optimizerBytesPerParameter: o,
    outerOptimizerBytesPerParameter: outer,
  } = workload;
  const { denseShards, expertShards } = splitOf(plan);
  const weights = w * (1 - plan.offload.weights);
  const states = 1 - plan.offload.optimizer;
  const saved = held.dense + (workload.adapters === null ? frozen.dense : 0);
  const dense = weights * saved + states * (o * (held.dense - held.outer) + outer * held.outer);
  return dense / denseShards + ((weights + states * o) * held.experts) / expertShards;
}

const SOURCE = 'docs/MODEL.md §3.10';

/** Host memory of the neediest node at a moment, by what it is; empty where nothing lies there. */
export function hostPartsPerNode(problem: Problem, plan: Plan, moment: MemoryMomentId): MemoryPart[] {
  const { acceleratorsPerNode, numAccelerators } = problem.network;
  const ranks = Math.min(acceleratorsPerNode, numAccelerators);
  const parts: MemoryPart[] = [];
  const add = (label: string, bytes: number) => bytes > 0 && parts.push({ label, bytes, source: SOURCE, children: [] });
  const activations = moment === 'training' ? plan.offload.activations : 0;
  const optimizer = moment === 'loading' ? 0 : plan.offload.optimizer;
  const kept = { ...plan, offload: { ...plan.offload, activations, optimizer } };
  add('What is offloaded', hostBytesPerNode(problem, kept));
  if (moment === 'saving') {
    const { contents } = distinctRanks(residentRanks(problem, plan));
    const staged = contents.map((rank) => stagedBytes(holdingOf(problem, plan, rank)));
    add('Staged copy of weights and states', Math.max(...staged) * ranks);
  }
  return parts;
}

const HOST_MOMENTS = ['training', 'saving'] as const;

/** Whether the host holds what is offloaded and a checkpoint's copy; true where its memory is not known. */
export function hostHolds(problem: Problem, plan: Plan): boolean {
  const limit = problem.host.memoryBytes;
  if (limit === null) return true;
  return HOST_MOMENTS.every(
    (moment) => hostPartsPerNode(problem, plan, moment).reduce((sum, { bytes }) => sum + bytes, 0) <= limit,
  );
}
