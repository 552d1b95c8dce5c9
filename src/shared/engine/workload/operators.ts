/**
 * What a layer is made of, as operators with seconds. A layer kind is a function from (model, split, device) to its
 * operators; everything above sums them by kind and never looks inside.
 */
import type { Adapters, Model, Plan } from '../../schema/index.ts';
import { linearSeconds, memoryTime, type Processor } from '../compute.ts';
import type { MatmulShape } from '../kernels/index.ts';
import { explainCollective, explainMatmul, explainMoved, type Explain } from './explanation.ts';
import { stretchOf, type Launches, type Stretch } from './launches.ts';
import { groupSeconds, type Links, type PlanGroups } from '../network/index.ts';

/** A module that selective recomputation can name. */
export type RecomputeModule = Plan['recompute']['modules'][number];

/**
 * Parts of operators' seconds that the waterfall shows by themselves: casts to fewer bits, adding weight gradients to their
 * sum, and what the fullest expert rank has beyond the mean. They do not overlap.
 */
export const shareNames = ['casts', 'accumulation', 'uneven'] as const;
export type ShareName = (typeof shareNames)[number];
export interface PassSeconds {
  forwardSeconds: number;
  backwardSeconds: number;
}

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
  /** Of the backward, what makes weight gradients: nobody waits for it before the update. */
  weightGradientSeconds?: number;
  shares?: Partial<Record<ShareName, PassSeconds>>;
  /** Ranks that a communication joins; tp where absent. */
  group?: 'tp' | 'cp' | 'ep' | 'etp';
  /** Kernels that the host starts for it, where they are not the usual of its kind (launches.ts). */
  launches?: Launches;
  /** Its shapes depend on the data, so that a graph of one layer cannot hold it. */
  isLoose?: boolean;
  /** Modules whose selective recomputation repeats it; absent where none does. */
  modules?: readonly RecomputeModule[];
  source: string;
  /** Formula and inputs of one call. */
  explain?: Explain;
}

/** Everything that decides a layer's operators for one micro-batch. */
export interface LayerContext {
  model: Model;
  processor: Processor;
  links: Links;
  groups: PlanGroups;
  /** Keys that a query may see. */
  seqLen: number;
  microBatchSize: number;
  /** Tokens of the micro-batch on this rank. */
  tokens: number;
  tp: number;
  cp: number;
  cpMethod: Plan['cpMethod'];
  ep: number;
  etp: number;
  /** Rows of the fullest expert-parallel rank over the mean: how unevenly the router sends them. */
  expertImbalance: number;
  /** Experts take what they are sent, so that the host has to wait for the counts. */
  isDropless: boolean;
  expertDispatcher: Plan['runtime']['expertDispatcher'];
  /** Share of the experts' exchanges that is hidden behind another micro-batch. */
  expertOverlapFraction: number;
  sequenceParallel: boolean;
  attentionKernel: Plan['runtime']['attentionKernel'];
  /** Element-wise work runs in fused kernels (fusion.ts). */
  fusedKernels: boolean;
  /** Share of tensor-parallel communication that is hidden behind matmuls. */
  tpOverlapFraction: number;
  /** Backward sums input gradients over tp beside the weight-gradient matmul (stacks since 2022). */
  isBackwardReduceHidden: boolean;
  gradientBytesPerParameter: number;
  /** Adapters that are trained in place of the weights, which then need no gradient; null = the weights are trained. */
  adapters: Adapters | null;
  /** Weight gradients are added to the main gradient inside the matmul kernel (stacks since 2022). */
  fusedGradientAccumulation: boolean;
}

/** Seconds by kind. */
export type KindSeconds = Record<OperatorKind, number>;

export interface LayerCost {
  operators: Operator[];
  forward: KindSeconds;
  backward: KindSeconds;
  /** Communication beside other operators. */
  hidden: PassSeconds;
  /** Of the backward. */
  weightGradientSeconds: number;
  /** Of forward and backward together. */
  shares: Record<ShareName, KindSeconds>;
  forwardSeconds: number;
  backwardSeconds: number;
  /** What the host starts ahead of the device, and what has to wait for the routed tokens. */
  steady: Stretch;
  loose: Stretch;
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
  const hidden = { forwardSeconds: 0, backwardSeconds: 0 };
  const shares = { casts: zeroKinds(), accumulation: zeroKinds(), uneven: zeroKinds() };
  let weightGradientSeconds = 0;
  for (const operator of operators) {
    weightGradientSeconds += operator.weightGradientSeconds ?? 0;
    for (const name of shareNames) {
      const share = operator.shares?.[name];
      if (share !== undefined) shares[name][operator.kind] += share.forwardSeconds + share.backwardSeconds;
    }
    forward[operator.kind] += operator.forwardSeconds;
    backward[operator.kind] += operator.backwardSeconds;
    hidden.forwardSeconds += operator.hiddenForwardSeconds ?? 0;
    hidden.backwardSeconds += operator.hiddenBackwardSeconds ?? 0;
  }
  return {
    operators,
    forward,
    backward,
    hidden,
    weightGradientSeconds,
    shares,
    forwardSeconds: sumKinds(forward),
    backwardSeconds: sumKinds(backward),
    steady: stretchOf(operators, false),
    loose: stretchOf(operators, true),
  };
}

/** Forward seconds that repeating some modules takes. */
export function moduleForwardSeconds(cost: LayerCost, modules: readonly RecomputeModule[]): number {
  return cost.operators.reduce((sum, operator) => (isIn(operator, modules) ? sum + operator.forwardSeconds : sum), 0);
}

/** Whether an operator belongs to one of the modules. */
export function isIn(operator: Operator, modules: readonly RecomputeModule[]): boolean {
  return operator.modules?.some((module) => modules.includes(module)) === true;
}

const MATMUL_SOURCE = 'measured matmul curve at the rank’s shapes (docs/KERNELS.md)';
const MEMORY_SOURCE = 'bytes ÷ memory bandwidth (docs/MODEL.md §4.3)';

/** A linear map, and how many of the same shape run as one kernel; one where absent. */
export type LinearShape = MatmulShape & { times?: number };

/** A linear map and its gradients; the input's alone where the weights are frozen. */
export function matmul(
  label: string,
  { processor, adapters }: Pick<LayerContext, 'processor' | 'adapters'>,
  { times = 1, ...shape }: LinearShape,
  modules?: readonly RecomputeModule[],
): Operator {
  const seconds = linearSeconds(processor, shape, times);
  const weightGradient = adapters === null ? seconds.weightGradient : 0;
  const { forward } = seconds;
  const backward = seconds.inputGradient + weightGradient;
  return {
    label,
    kind: 'matmul',
    forwardSeconds: forward,
    backwardSeconds: backward,
    weightGradientSeconds: weightGradient,
    ...(processor.castKernels === 0
      ? {}
      : { shares: { casts: { forwardSeconds: seconds.castForward, backwardSeconds: seconds.castBackward } } }),
    ...(modules === undefined ? {} : { modules }),
    source: MATMUL_SOURCE,
    explain: explainMatmul(processor, shape, { forward, backward }, { times, isFrozen: adapters !== null }),
  };
}

/** Bytes that element-wise kernels move, and in how many launches. */
export interface MovedBytes {
  forward: number;
  backward: number;
  forwardKernels: number;
  backwardKernels: number;
}

/** Kernels bound by memory bandwidth. */
export function elementwise(
  label: string,
  processor: Processor,
  bytes: MovedBytes,
  modules?: readonly RecomputeModule[],
): Operator {
  return {
    label,
    kind: 'elementwise',
    forwardSeconds: memoryTime(processor, bytes.forward, bytes.forwardKernels),
    backwardSeconds: memoryTime(processor, bytes.backward, bytes.backwardKernels),
    launches: { forward: bytes.forwardKernels, backward: bytes.backwardKernels },
    ...(modules === undefined ? {} : { modules }),
    source: MEMORY_SOURCE,
    explain: explainMoved(processor, {
      forward: { bytes: bytes.forward, kernels: bytes.forwardKernels },
      backward: { bytes: bytes.backward, kernels: bytes.backwardKernels },
    }),
  };
}

/** Adding each micro-batch's weight gradients to the accumulated ones, where the matmul kernel does not do it. */
export function gradientAccumulation(what: string, context: LayerContext, weightsPerRank: number): Operator[] {
  const g = context.gradientBytesPerParameter;
  if (context.adapters !== null) return [];
  // unfused: read the new 2-byte gradient, read and write the sum; fused: the kernel's epilogue reads and writes the sum
  const bytes = context.fusedGradientAccumulation ? 2 * g - 2 : 2 + 2 * g;
  const added = elementwise(`Weight-gradient accumulation, ${what}`, context.processor, {
    forward: 0,
    backward: bytes * weightsPerRank,
    forwardKernels: 0,
    backwardKernels: context.fusedGradientAccumulation ? 0 : 2,
  });
  const { backwardSeconds } = added;
  const shares = { accumulation: { forwardSeconds: 0, backwardSeconds } };
  return [{ ...added, weightGradientSeconds: backwardSeconds, shares }];
}

/** Share of a hidden collective that its matmul pays back by lending it multiprocessors. Source: MODEL §5.4. */
const HIDDEN_COLLECTIVE_COST = 0.15;

/**
 * Tensor-parallel collectives of one block (attention or feed-forward). Without sequence parallelism an all-reduce of
 * 2·T·h bytes forward and one backward; with it each becomes an all-gather and a reduce-scatter. Megatron-LM since v3 runs
 * the backward sum of its column-parallel layer beside that layer's weight-gradient matmul (`weightGradientSeconds`); what
 * the matmul is too short to hide stays. (Sequence parallelism's further all-gather, which rebuilds the saved input, runs
 * beside the input-gradient matmul.)
 * Source: MODEL §5.3–5.4; Korthikanti et al. 2022 §4.2; Megatron-LM tensor_parallel/layers.py (async all-reduce, 2022).
 */
export function blockCollectives(what: string, context: LayerContext, weightGradientSeconds: number): Operator[] {
  const { tp, links, tokens } = context;
  if (tp === 1) return [];
  const bytes = 2 * tokens * context.model.hiddenSize;
  const group = context.groups.tp;
  const gather = context.sequenceParallel ? groupSeconds(links, 'allGather', group, bytes) : 0;
  const reduce = groupSeconds(links, context.sequenceParallel ? 'reduceScatter' : 'allReduce', group, bytes);
  const visible = 1 - context.tpOverlapFraction;
  const backwardReduce = context.isBackwardReduceHidden
    ? Math.max(reduce - (context.adapters === null ? weightGradientSeconds : 0), reduce * HIDDEN_COLLECTIVE_COST)
    : reduce;
  const forward = gather + reduce;
  const backward = gather + backwardReduce;
  return [
    {
      label: `TP ${context.sequenceParallel ? 'all-gather and reduce-scatter' : 'all-reduce'}, ${what}`,
      kind: 'communication',
      launches: context.sequenceParallel ? { forward: 2, backward: 3 } : { forward: 1, backward: 1 },
      forwardSeconds: forward * visible,
      backwardSeconds: backward * visible,
      hiddenForwardSeconds: forward * (1 - visible),
      // of sequence parallelism's two all-gathers in backward one only rebuilds the input and is hidden
      hiddenBackwardSeconds: 2 * gather + reduce - backward * visible,
      source: 'measured collective curve (docs/KERNELS.md), volume and overlap docs/MODEL.md §5.3–5.4',
      explain: explainCollective(group, bytes, {
        forward: { waited: forward * visible, hidden: forward * (1 - visible) },
        backward: { waited: backward * visible, hidden: 2 * gather + reduce - backward * visible },
      }),
    },
  ];
}
