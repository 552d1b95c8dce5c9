/**
 * What a layer is made of, as operators with seconds. A layer kind is a function from (model, split, device) to its
 * operators; everything above sums them by kind and never looks inside.
 */
import type { Model, Plan } from '../../schema/index.ts';
import type { Processor } from '../compute.ts';
import type { Links } from '../network/index.ts';

export type OperatorKind = 'matmul' | 'attention' | 'elementwise' | 'communication';

/** One operator of a layer for one micro-batch on one rank. */
export interface Operator {
  label: string;
  kind: OperatorKind;
  forwardSeconds: number;
  backwardSeconds: number;
  /** Time of a communication that runs beside other operators and so costs nothing itself; 0 or absent elsewhere. */
  hiddenForwardSeconds?: number;
  hiddenBackwardSeconds?: number;
  /** Part of core attention (QKᵀ, softmax, dropout, PV): what selective recomputation repeats. */
  isCoreAttention: boolean;
  source: string;
}

/** Everything that decides a layer's operators for one micro-batch. */
export interface LayerContext {
  model: Model;
  processor: Processor;
  links: Links;
  seqLen: number;
  microBatchSize: number;
  tp: number;
  sequenceParallel: boolean;
  attentionKernel: Plan['runtime']['attentionKernel'];
  /** Share of tensor-parallel communication that is hidden behind matmuls. */
  tpOverlapFraction: number;
  /** Backward sums input gradients over tp beside the weight-gradient matmul (stacks since 2022). */
  isBackwardReduceHidden: boolean;
  gradientBytesPerParameter: number;
  /** Weight gradients are added to the main gradient inside the matmul kernel (stacks since 2022). */
  fusedGradientAccumulation: boolean;
}

/** Seconds by kind. */
export type KindSeconds = Record<OperatorKind, number>;

export interface LayerCost {
  operators: Operator[];
  forward: KindSeconds;
  backward: KindSeconds;
  coreAttentionForward: KindSeconds;
  /** Communication beside other operators. */
  hidden: { forwardSeconds: number; backwardSeconds: number };
  forwardSeconds: number;
  backwardSeconds: number;
  coreAttentionForwardSeconds: number;
}

export function zeroKinds(): KindSeconds {
  return { matmul: 0, attention: 0, elementwise: 0, communication: 0 };
}

export function sumKinds(kinds: KindSeconds): number {
  return kinds.matmul + kinds.attention + kinds.elementwise + kinds.communication;
}

/** Sums a layer's operators by kind and pass. */
export function toLayerCost(operators: Operator[]): LayerCost {
  const forward = zeroKinds();
  const backward = zeroKinds();
  const coreAttentionForward = zeroKinds();
  const hidden = { forwardSeconds: 0, backwardSeconds: 0 };
  for (const operator of operators) {
    forward[operator.kind] += operator.forwardSeconds;
    backward[operator.kind] += operator.backwardSeconds;
    hidden.forwardSeconds += operator.hiddenForwardSeconds ?? 0;
    hidden.backwardSeconds += operator.hiddenBackwardSeconds ?? 0;
    if (operator.isCoreAttention) coreAttentionForward[operator.kind] += operator.forwardSeconds;
  }
  return {
    operators,
    forward,
    backward,
    coreAttentionForward,
    hidden,
    forwardSeconds: sumKinds(forward),
    backwardSeconds: sumKinds(backward),
    coreAttentionForwardSeconds: sumKinds(coreAttentionForward),
  };
}
