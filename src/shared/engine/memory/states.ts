/**
 * Weights, gradients and optimizer states of one rank, by how they are sharded and what lives on the host.
 *
 *   weights w·P        ÷ shards with ZeRO-3, which then gathers a layer at a time (two: one in use, one coming)
 *   gradients g·P      ÷ shards from ZeRO-2 on
 *   optimizer o·P      ÷ shards from ZeRO-1 on, less the share on the host and the copy of gradients (moments.ts)
 * P counts dense parameters over the dp·cp group and experts over their own (split.ts).
 * Source: MODEL §3.1; ZeRO (arXiv 1910.02054 §5).
 */
import type { Plan } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { splitOf, type Split } from '../split.ts';
import type { RankContent } from '../stages.ts';
import { kindParameters, vocabularyParameters, type RankParameters } from '../workload/parameters.ts';
import type { MemorySink, StageHolding } from './items.ts';

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
  const matrix = rank.hasEmbedding || rank.hasHead ? vocabularyParameters(model, tp) : 0;
  return Math.max(matrix, ...layers);
}

/** What ZeRO-2 and 3 hold whole for a moment: weights of the layers in use, and a layer's gradients before they are cut. */
function addGathered(into: MemorySink, stage: StageHolding, split: Split): void {
  const { problem, plan, rank, held, frozen } = stage;
  const { zeroStage, reshardAfterForward } = plan.sharding;
  if (zeroStage < 2 || split.denseShards === 1) return;
  const unit = largestUnit(problem, plan, rank);
  const whole = held.dense + held.experts + frozen.dense + frozen.experts;
  if (zeroStage === 3) {
    const gathered = reshardAfterForward ? Math.min(GATHERED_UNITS * unit, whole) : whole;
    into.add('workspace', 2 * gathered, 'Gathered weights of the layers in use', SOURCE);
  }
  // of adapters each layer has its part of the rank's
  const scattered = problem.workload.adapters === null ? unit : (held.dense + held.experts) / Math.max(1, rank.layers);
  const gradients = problem.workload.gradientBytesPerParameter * scattered;
  into.add('workspace', gradients, 'Gradients of one layer before they are scattered', SOURCE);
}

/** FSDP reduces gradients in fp32 unless told otherwise. Source: torchtitan models/llama3/parallelize.py, reduce_dtype. */
const REDUCED_GRADIENT_BYTES = 4;

/**
 * Whole gradients that FSDP sums over the micro-batches of a pipeline: it reduces them behind the last backward only.
 * Source: PyTorch distributed/pipelining/stage.py (set_requires_gradient_sync), distributed/fsdp/_fully_shard/_fsdp_param.py
 * (accumulated unsharded gradients in the type that they are reduced in).
 */
function addUnreducedGradients(into: MemorySink, { problem, plan, held }: StageHolding, split: Split): void {
  const isPipelined = problem.framework.family === 'fsdp' && plan.pp > 1;
  if (!isPipelined || plan.sharding.zeroStage !== 3 || split.denseShards === 1) return;
  const bytes = REDUCED_GRADIENT_BYTES * (held.dense + held.experts);
  into.add('gradients', bytes, 'Whole gradients, summed over the micro-batches', SOURCE);
}

/** Weights, gradients and optimizer states of the dense parameters, or of the experts. */
function addPart(
  into: MemorySink,
  { problem: { workload }, plan }: StageHolding,
  part: { name: string; ranks: string; parameters: number; outer: number; shards: number },
): void {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, gradientCopyBytesPerParameter: copy } = workload;
  const o = workload.optimizerBytesPerParameter - copy;
  const { parameters, outer, shards, name, ranks } = part;
  const { zeroStage } = plan.sharding;
  const weightShards = zeroStage === 3 ? shards : 1;
  const gradientShards = zeroStage >= 2 ? shards : 1;
  const stateShards = zeroStage >= 1 ? shards : 1;
  const label = (what: string, bytes: number, over: number) => () =>
    `${what}${name}, ${bytes} B each${over > 1 ? ` ÷ ${over} ${ranks}` : ''}`;
  const weights = (w * parameters * (1 - plan.offload.weights)) / weightShards;
  into.add('weights', weights, label('Weights', w, weightShards), SOURCE);
  into.add('gradients', (g * parameters) / gradientShards, label('Gradients', g, gradientShards), SOURCE);
  const states = o * (parameters - outer) + (workload.outerOptimizerBytesPerParameter - copy) * outer;
  const onDevice = (states * (1 - plan.offload.optimizer)) / stateShards;
  into.add('optimizer', onDevice, label(workload.optimizerLabel, o, stateShards), SOURCE);
}

/**
 * Weights that are held without training them: the base model under LoRA, a frozen tower. They have no gradients and no
 * optimizer states; ZeRO-3 shards them like the others.
 */
function addFrozen(into: MemorySink, { problem: { workload }, plan, frozen }: StageHolding, split: Split): void {
  if (frozen.dense + frozen.experts === 0) return;
  const w = workload.weightBytesPerParameter;
  const held =
    plan.sharding.zeroStage === 3
      ? frozen.dense / split.denseShards + frozen.experts / split.expertShards
      : frozen.dense + frozen.experts;
  into.add('weights', w * held * (1 - plan.offload.weights), `Frozen weights, ${w} B each`, SOURCE);
}

/** Copies in few bits of the weights that the matmuls read: of all, or with ZeRO-3 of the layers that are gathered. */
function addWeightCopies(into: MemorySink, stage: StageHolding, split: Split): void {
  const { problem, plan, rank, held, frozen } = stage;
  const { weightCopyBytesPerParameter: copies, compute } = problem.workload;
  if (copies === 0) return;
  const whole = held.dense + held.experts + frozen.dense + frozen.experts;
  const { zeroStage, reshardAfterForward } = plan.sharding;
  const isGathered = zeroStage === 3 && split.denseShards > 1 && reshardAfterForward;
  const parameters = isGathered ? Math.min(GATHERED_UNITS * largestUnit(problem, plan, rank), whole) : whole;
  into.add('weights', copies * parameters, `${compute} copies of weights for the matmuls`, SOURCE);
}

/** What a rank holds for its parameters all the time: weights, gradients and optimizer states. */
export function addStates(into: MemorySink, stage: StageHolding): void {
  const { held, plan } = stage;
  const split = splitOf(plan);
  const dense = { name: '', ranks: 'data-parallel ranks', parameters: held.dense, outer: held.outer };
  addPart(into, stage, { ...dense, shards: split.denseShards });
  if (held.experts > 0) {
    const experts = { name: ' of experts', ranks: 'expert-data-parallel ranks', parameters: held.experts, outer: 0 };
    addPart(into, stage, { ...experts, shards: split.expertShards });
  }
  addFrozen(into, stage, split);
}

/** What of the parameters is there only in forward and backward: gathered weights, whole gradients, copies in few bits. */
export function addGatheredStates(into: MemorySink, stage: StageHolding): void {
  const split = splitOf(stage.plan);
  addGathered(into, stage, split);
  addUnreducedGradients(into, stage, split);
  addWeightCopies(into, stage, split);
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
