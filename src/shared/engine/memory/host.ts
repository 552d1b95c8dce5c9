/**
 * Host memory of a node: what its ranks offload to it. Optimizer states on the host bring the gradients that update them;
 * activations are those of the micro-batches in flight. Source: MODEL §3.1 (offload).
 */
import type { Plan } from '../../schema/index.ts';
import { pipelineShape, scheduleOf } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { residentRanksOf } from '../stages.ts';
import { rankParameters } from '../workload/parameters.ts';
import { kindActivations } from './activations.ts';
import { hostStateBytes } from './states.ts';

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

/** Bytes that a node of ranks of the neediest stage offloads to its host; 0 where nothing is offloaded. */
export function hostBytesPerNode(problem: Problem, plan: Plan): number {
  const { optimizer, weights, activations } = plan.offload;
  if (optimizer + weights + activations === 0) return 0;
  const perRank = Array.from({ length: plan.pp }, (_, stage) => hostBytes(problem, plan, stage));
  const { acceleratorsPerNode, numAccelerators } = problem.network;
  return Math.max(...perRank) * Math.min(acceleratorsPerNode, numAccelerators);
}

/** Whether the host holds what is offloaded to it; true where its memory is not known. */
export function hostHolds(problem: Problem, plan: Plan): boolean {
  const limit = problem.host.memoryBytes;
  return limit === null || hostBytesPerNode(problem, plan) <= limit;
}
