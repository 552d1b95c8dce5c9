/**
 * Weights, gradients and optimizer states of one rank, by how they are sharded and what lives on the host.
 *
 *   weights w·P        ÷ shards with ZeRO-3, which then gathers a layer at a time (two: one in use, one coming)
 *   gradients g·P      ÷ shards from ZeRO-2 on
 *   optimizer o·P      ÷ shards from ZeRO-1 on, less the share on the host
 * P counts dense parameters over the dp·cp group and experts over their own (split.ts).
 * Source: MODEL §3.1; ZeRO (arXiv 1910.02054 §5).
 */
import type { Plan } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { splitOf } from '../split.ts';
import type { RankContent } from '../stages.ts';
import { kindParameters, paddedVocabSize, type RankParameters } from '../workload/parameters.ts';
import type { MemoryItem } from './items.ts';

const SOURCE = 'bytes per parameter (docs/MODEL.md §3.1)';
/** Layers whose gathered weights a ZeRO-3 rank holds at once: the one in use and the one being fetched. */
const GATHERED_UNITS = 2;

/** Parameters per rank of the largest unit that ZeRO-3 gathers: a layer, or the embedding or head matrix. */
function largestUnit(problem: Problem, plan: Plan, rank: RankContent): number {
  const { model } = problem;
  const { tp, ep, etp } = plan;
  const layers = kindParameters(model).map(({ sharded, replicated, routed }, kind) =>
    (rank.counts[kind] ?? 0) === 0 ? 0 : sharded / tp + replicated + routed / (ep * etp),
  );
  const matrix = rank.hasEmbedding || rank.hasHead ? (paddedVocabSize(model, tp) * model.hiddenSize) / tp : 0;
  return Math.max(matrix, ...layers);
}

function over(shards: number, what: string): string {
  return shards > 1 ? ` ÷ ${shards} ${what}` : '';
}

/** What ZeRO-2 and 3 hold whole for a moment: weights of the layers in use, and a layer's gradients before they are cut. */
function gatheredItems(problem: Problem, plan: Plan, rank: RankContent, held: RankParameters): MemoryItem[] {
  const { zeroStage, reshardAfterForward } = plan.sharding;
  if (zeroStage < 2 || splitOf(plan).denseShards === 1) return [];
  const unit = largestUnit(problem, plan, rank);
  const whole = held.dense + held.experts;
  const item = (label: string, bytes: number): MemoryItem => ({ category: 'workspace', label, bytes, source: SOURCE });
  const gradients = item(
    'Gradients of one layer before they are scattered',
    problem.workload.gradientBytesPerParameter * unit,
  );
  if (zeroStage === 2) return [gradients];
  const gathered = reshardAfterForward ? Math.min(GATHERED_UNITS * unit, whole) : whole;
  return [item('Gathered weights of the layers in use', 2 * gathered), gradients];
}

/** Everything that a rank holds for its parameters. */
export function stateItems(problem: Problem, plan: Plan, rank: RankContent, held: RankParameters): MemoryItem[] {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, optimizerBytesPerParameter: o } = problem.workload;
  const { outerOptimizerBytesPerParameter: oOuter, optimizerLabel } = problem.workload;
  const { zeroStage } = plan.sharding;
  const split = splitOf(plan);
  const items: MemoryItem[] = [];
  const add = (category: MemoryItem['category'], label: string, bytes: number) =>
    bytes > 0 && items.push({ category, label, bytes, source: SOURCE });
  const parts = [
    { name: '', parameters: held.dense, outer: held.outer, shards: split.denseShards, ranks: 'data-parallel ranks' },
    {
      name: ' of experts',
      parameters: held.experts,
      outer: 0,
      shards: split.expertShards,
      ranks: 'expert-data-parallel ranks',
    },
  ];
  for (const { name, parameters, outer, shards, ranks } of parts) {
    const weightShards = zeroStage === 3 ? shards : 1;
    const gradientShards = zeroStage >= 2 ? shards : 1;
    const stateShards = zeroStage >= 1 ? shards : 1;
    const onDevice = 1 - plan.offload.weights;
    add(
      'weights',
      `Weights${name}, ${w} B each${over(weightShards, ranks)}`,
      (w * parameters * onDevice) / weightShards,
    );
    add('gradients', `Gradients${name}, ${g} B each${over(gradientShards, ranks)}`, (g * parameters) / gradientShards);
    add(
      'optimizer',
      `${optimizerLabel}${name}, ${o} B each${over(stateShards, ranks)}`,
      ((o * (parameters - outer) + oOuter * outer) * (1 - plan.offload.optimizer)) / stateShards,
    );
  }
  for (const one of gatheredItems(problem, plan, rank, held)) items.push(one);
  if (problem.workload.weightCopyBytesPerParameter > 0)
    add(
      'weights',
      'fp8 copies of weights for the matmuls',
      problem.workload.weightCopyBytesPerParameter * (held.dense + held.experts),
    );
  return items;
}

/** Bytes that a rank keeps in host memory. */
export function hostStateBytes(problem: Problem, plan: Plan, held: RankParameters): number {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, optimizerBytesPerParameter: o } = problem.workload;
  const split = splitOf(plan);
  const stateShards =
    plan.sharding.zeroStage >= 1 ? { dense: split.denseShards, experts: split.expertShards } : { dense: 1, experts: 1 };
  const sharded = held.dense / stateShards.dense + held.experts / stateShards.experts;
  // the host's Adam needs the gradients there as well
  return plan.offload.optimizer * sharded * (o + g) + plan.offload.weights * (held.dense + held.experts) * w;
}
