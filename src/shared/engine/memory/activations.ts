/**
 * Activations that one rank keeps for one micro-batch, and what it needs on top while a layer is computed again.
 * Source: MODEL §3.2–3.5; the tensors of each kind of layer stand with it in workload/parts.
 */
import { stackOf } from '../../layer-stack.ts';
import type { LayerKind, Model, Plan } from '../../schema/index.ts';
import { savedInputBytes } from '../low-precision.ts';
import type { Problem } from '../problem.ts';
import type { RankContent } from '../stages.ts';
import { layerTensors } from '../workload/layer.ts';
import type { TensorContext } from '../workload/parts/index.ts';

/** Bytes of activations that one layer keeps for one micro-batch, by recomputation mode. */
export interface LayerActivationBytes {
  /** Kept from forward to backward. */
  kept: number;
  /** Needed while one layer is recomputed, on top of what is kept. */
  working: number;
}

/** What one layer of a kind keeps for one micro-batch under the plan's recomputation, matmuls in 16 bits. */
export function layerActivationBytes(model: Model, kind: LayerKind, plan: Plan, seqLen: number): LayerActivationBytes {
  return activationBytes(kind, { model, plan, seqLen, inputBytes: 2, adapters: null, keepsScoredRows: false });
}

function activationBytes(kind: LayerKind, context: TensorContext): LayerActivationBytes {
  const { model, plan, seqLen } = context;
  const tokens = (seqLen / plan.cp) * plan.microBatchSize;
  const { mode, modules } = plan.recompute;
  let kept = 0;
  let dropped = 0;
  for (const tensor of layerTensors(kind, context)) {
    const isDropped = mode === 'selective' && tensor.modules.some((module) => modules.includes(module));
    if (isDropped) dropped += tokens * tensor.bytesPerToken;
    else kept += tokens * tensor.bytesPerToken;
  }
  if (mode !== 'full') return { kept, working: dropped };
  const input = (2 * model.hiddenSize * tokens) / (plan.sequenceParallel ? plan.tp : 1);
  return { kept: input, working: kept };
}

/** Share of a rank's layers that full recomputation covers: all, or `layersPerStage` of each of its virtual stages. */
function fullShare({ recompute, vpp }: Plan, layers: number): number {
  if (recompute.layersPerStage === null || layers === 0) return 1;
  return Math.min(1, (recompute.layersPerStage * vpp) / layers);
}

export interface KindActivations {
  /** Index of the kind in the model's stack. */
  kind: number;
  count: number;
  /** Bytes that all layers of the kind on the rank keep for one micro-batch. */
  kept: number;
  working: number;
}

interface PerPlan {
  problem: Problem;
  plan: Plan;
  byKind: (LayerActivationBytes | undefined)[];
}
/** What the layers of the plan asked last keep: its stages ask one after the other. */
let last: PerPlan | null = null;

/** What the tensors of a layer follow from in this problem. */
export function tensorContext({ model, workload, framework }: Problem, plan: Plan): TensorContext {
  return {
    model,
    plan,
    seqLen: workload.seqLen,
    inputBytes: savedInputBytes(workload.compute),
    adapters: workload.adapters,
    // Megatron-LM weighs inside the experts' activation; torchtitan before or after the experts (models/moe.py)
    keepsScoredRows: framework.family === 'fsdp',
  };
}

function kindBytes(problem: Problem, plan: Plan, index: number, kind: LayerKind): LayerActivationBytes {
  if (last === null || last.problem !== problem || last.plan !== plan) last = { problem, plan, byKind: [] };
  return (last.byKind[index] ??= activationBytes(kind, tensorContext(problem, plan)));
}

/** Activations of a rank's layers for one micro-batch, by kind. */
export function kindActivations(problem: Problem, plan: Plan, rank: RankContent): KindActivations[] {
  const { model } = problem;
  const share = plan.recompute.mode === 'full' ? fullShare(plan, rank.layers) : 1;
  return stackOf(model).kinds.flatMap((kind, index): KindActivations[] => {
    const isLast = index === (stackOf(model).order.at(-1) ?? 0);
    const count = (rank.counts[index] ?? 0) + (isLast ? rank.mtpLayers : 0);
    if (count === 0) return [];
    const { kept, working } = kindBytes(problem, plan, index, kind);
    const whole = share < 1 ? working : 0; // with full recomputation `working` is all that a layer would keep
    return [{ kind: index, count, kept: count * (share * kept + (1 - share) * whole), working }];
  });
}

/** Bytes of activations of all layers of a rank for one micro-batch. */
export function rankActivationBytes(problem: Problem, plan: Plan, rank: RankContent): number {
  return kindActivations(problem, plan, rank).reduce((sum, { kept }) => sum + kept, 0);
}
