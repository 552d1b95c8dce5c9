/**
 * The cost of one training step under a plan: stages from layers, the pipeline from stages, then what follows it.
 *
 * step = pipeline (busy + bubble + sends) + exposed gradient reduction + exposed parameter gather + tied-embedding
 * exchange + optimizer + fixed overhead. Source: MODEL §6 (iteration time), §5.3–5.4 (volumes and overlap).
 */
import type { Plan } from '../../schema/index.ts';
import {
  inputGradientTime,
  matmulBackwardTime,
  matmulTime,
  memoryTime,
  processorOf,
  type Processor,
} from '../compute.ts';
import { groupSeconds, groupsOf, linksOf, type Links } from '../network/index.ts';
import { pipelineShape, scheduleOf } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { distinctRanks, ranksOf, residentRanksOf, type RankContent } from '../stages.ts';
import { embeddingOperators, headOperators } from '../workload/ends.ts';
import { moduleForwardSeconds, toLayerCost, type LayerContext, type LayerCost } from '../workload/operators.ts';
import { layerOperators } from '../workload/layer.ts';
import { layerHostWait, type HostWait } from '../workload/launches.ts';
import { stackOf } from '../../layer-stack.ts';
import { ADAM_STEP_BYTES } from '../workload/optimizer.ts';
import { rankParameters, vocabularyParameters, type RankParameters } from '../workload/parameters.ts';
import { rankWeights } from '../workload/trained.ts';
import { splitOf } from '../split.ts';
import { dataParallelCost, nothing, onceSeconds, type Hideable } from './data-parallel.ts';
import { offloadCost } from './offload.ts';
import { sendCost } from './send.ts';

import type { KindCost, StepCost } from './types.ts';

export { onceSeconds, type Hideable } from './data-parallel.ts';
export type { KindCost, StepCost } from './types.ts';

interface LayerCosts {
  kinds: LayerCost[];
  embedding: LayerCost;
  head: LayerCost;
}

/** Gradient norm (read) and clearing (write) of a full gradient, per byte of gradient. */
const GRADIENT_PASSES = 2;
/** fp16 gradients are first copied to fp32, unscaled and checked for overflow: 2 + 4 read and write, 4 + 4 unscale. */
const FP16_GRADIENT_BYTES = 14;
/** Share of expert all-to-alls hidden behind the other micro-batch (1F1B overlap, DualPipe). Source: MODEL §5.4. */
const EXPERT_OVERLAP_FRACTION = 0.8;
/** Megatron-LM's: in it the groups inside a layer do not depend on dp and pp. */
const DEFAULT_RANK_ORDER = 'tp-cp-ep-dp-pp';
/** Share of a tensor-parallel collective hidden by overlapping it with its matmul. Source: MODEL §5.4, 0.5–0.9. */
const TP_OVERLAP_FRACTION = 0.7;

/** Costs plans of one problem; remembers layer costs, which few plans do not share. Not safe to share between threads. */
export class StepModel {
  readonly problem: Problem;
  private readonly processor: Processor;
  private readonly links: Links;
  private readonly layers = new Map<string, LayerCosts>();

  constructor(problem: Problem) {
    this.problem = problem;
    this.processor = processorOf(problem);
    this.links = linksOf(problem);
  }

  private layerCosts(plan: Plan): LayerCosts {
    const { tp, microBatchSize, sequenceParallel } = plan;
    const { attentionKernel, fusedKernels, ...experts } = plan.runtime;
    const routing = `${experts.expertDispatcher}/${experts.expertCapacity}/${experts.expertImbalance}`;
    const order = plan.rankOrder === DEFAULT_RANK_ORDER ? '' : `${plan.rankOrder}/${plan.dp}/${plan.pp}`;
    const key = `${tp}/${plan.cp}/${plan.cpMethod}/${plan.ep}/${plan.etp}/${microBatchSize}/${sequenceParallel}/${attentionKernel}/${fusedKernels}/${plan.overlap.tp}/${plan.overlap.expert}/${routing}/${order}`;
    const known = this.layers.get(key);
    if (known !== undefined) return known;
    const { model, workload } = this.problem;
    const context: LayerContext = {
      model,
      processor: this.processor,
      links: this.links,
      groups: groupsOf(this.problem, plan),
      seqLen: workload.seqLen,
      microBatchSize,
      tokens: (workload.seqLen / plan.cp) * microBatchSize,
      tp,
      cp: plan.cp,
      cpMethod: plan.cpMethod,
      ep: plan.ep,
      etp: plan.etp,
      expertImbalance: plan.runtime.expertImbalance,
      isDropless: plan.runtime.expertCapacity === 'dropless',
      expertDispatcher: plan.runtime.expertDispatcher,
      expertOverlapFraction: plan.overlap.expert ? EXPERT_OVERLAP_FRACTION : 0,
      sequenceParallel,
      attentionKernel,
      fusedKernels,
      tpOverlapFraction: plan.overlap.tp ? TP_OVERLAP_FRACTION : 0,
      isBackwardReduceHidden: workload.stackYear >= 2022,
      gradientBytesPerParameter: workload.gradientBytesPerParameter,
      adapters: workload.adapters,
      fusedGradientAccumulation: workload.stackYear >= 2022 && workload.gradientBytesPerParameter === 4,
    };
    const costs = {
      kinds: stackOf(model).kinds.map((kind) => toLayerCost(layerOperators(kind, context))),
      embedding: toLayerCost(embeddingOperators(context)),
      head: toLayerCost(headOperators(context)),
    };
    this.layers.set(key, costs);
    return costs;
  }

  /** First and last stage sum the gradients of the tied embedding that both hold. */
  private embeddingExchange(plan: Plan): Hideable {
    const { model, workload } = this.problem;
    if (!model.tiedEmbeddings || plan.pp === 1 || workload.adapters !== null) return nothing;
    const bytes = vocabularyParameters(model, plan.tp) * workload.gradientBytesPerParameter;
    const seconds = groupSeconds(this.links, 'allReduce', groupsOf(this.problem, plan).embedding, bytes);
    return { totalSeconds: seconds, exposedSeconds: seconds, perMicroBatchSeconds: 0, bytes };
  }

  /** Adam over the rank's shard of its states, less what the host updates; norm and clearing over what it holds. */
  private optimizer(plan: Plan, held: RankParameters): { optimizerBytes: number; optimizerSeconds: number } {
    const { workload, calibration } = this.problem;
    const split = splitOf(plan);
    const sharded = held.dense / split.denseShards + held.experts / split.expertShards;
    const g = workload.gradientBytesPerParameter;
    const updated = ADAM_STEP_BYTES + (g === 2 ? FP16_GRADIENT_BYTES : 0) + g;
    const cleared = plan.sharding.zeroStage >= 2 ? sharded : held.dense + held.experts;
    const bytes = updated * sharded * (1 - plan.offload.optimizer) + (GRADIENT_PASSES - 1) * g * cleared;
    const relative = this.processor.memoryEfficiency / calibration.parameters.optimizerEfficiency;
    return { optimizerBytes: bytes, optimizerSeconds: memoryTime(this.processor, bytes, 20) * relative };
  }

  /** Seconds per layer and micro-batch that the plan's recomputation repeats. */
  private recompute(plan: Plan, layer: LayerCost): number {
    if (plan.recompute.mode === 'full') return layer.forwardSeconds;
    return plan.recompute.mode === 'selective' ? moduleForwardSeconds(layer, plan.recompute.modules) : 0;
  }

  /** The rank that holds most parameters: how many, and what it holds. */
  private heaviestRank(plan: Plan): { held: RankParameters; rank: RankContent | null } {
    let most = -1;
    let heaviest: { held: RankParameters; rank: RankContent | null } = {
      held: { dense: 0, experts: 0, outer: 0 },
      rank: null,
    };
    for (const rank of distinctRanks(residentRanksOf(this.problem.model, plan) ?? []).contents) {
      const held = rankParameters(this.problem.model, plan, rank); // frozen weights too
      if (held.dense + held.experts <= most) continue;
      most = held.dense + held.experts;
      heaviest = { held, rank };
    }
    return heaviest;
  }

  /** One multi-token-prediction layer, forward and backward. Source: DeepSeek-V3 (arXiv 2412.19437 §2.2). */
  private mtpSeconds(plan: Plan, costs: LayerCosts): number {
    const { model, workload } = this.problem;
    if (model.mtpLayers === 0) return 0;
    const last = costs.kinds[stackOf(model).order.at(-1) ?? 0];
    const tokens = (workload.seqLen / plan.cp) * plan.microBatchSize;
    const h = model.hiddenSize;
    const shape = { m: tokens, n: h / plan.tp, k: 2 * h };
    const backward = this.problem.workload.adapters === null ? matmulBackwardTime : inputGradientTime;
    const projection = matmulTime(this.processor, shape) + backward(this.processor, shape);
    const layer = last === undefined ? 0 : last.forwardSeconds + last.backwardSeconds;
    return layer + projection + costs.head.forwardSeconds + costs.head.backwardSeconds;
  }

  /** Seconds per micro-batch of a rank, what it waits for shards, and the share of its layers that is recomputed. */
  private rankCost(plan: Plan, rank: RankContent, costs: LayerCosts, parts: RankCosts): RankCost {
    const { kinds, numMicroBatches, mtpSeconds } = parts;
    const recomputedShare = recomputedShareOf(plan, rank.layers);
    const shardWait = this.shardWait(plan, rank, kinds, numMicroBatches);
    let seconds = shardWait + rank.mtpLayers * mtpSeconds;
    let hostWaitSeconds = 0;
    if (rank.hasEmbedding) seconds += costs.embedding.forwardSeconds + costs.embedding.backwardSeconds;
    if (rank.hasHead) seconds += costs.head.forwardSeconds + costs.head.backwardSeconds;
    for (const [kind, { cost, recomputeSeconds }] of kinds.entries()) {
      const count = rank.counts[kind] ?? 0;
      if (count === 0) continue;
      const perLayer = cost.forwardSeconds + cost.backwardSeconds + recomputedShare * recomputeSeconds;
      seconds += count * perLayer;
      const wait = this.hostWait(plan, cost, recomputedShare);
      hostWaitSeconds += count * (wait.forwardSeconds + wait.backwardSeconds);
    }
    return { seconds: seconds + hostWaitSeconds, shardWait, hostWaitSeconds, recomputedShare };
  }

  /** Seconds per micro-batch that one layer waits for the host; selective recomputation repeats few launches. */
  private hostWait(plan: Plan, cost: LayerCost, recomputedShare: number): HostWait {
    const repeated = plan.recompute.mode === 'full' ? recomputedShare : 0;
    const secondsPerLaunch = this.problem.calibration.parameters.hostLaunchSeconds;
    return layerHostWait(cost, { plan, repeated, secondsPerLaunch });
  }

  /** What is asked of each rank's cost, in order of the pipeline; ranks with the same content cost the same. */
  private rankCosts(plan: Plan, ranks: readonly RankContent[], costs: LayerCosts, parts: RankCosts) {
    const { contents, contentOf } = distinctRanks(ranks);
    const distinct = contents.map((rank) => this.rankCost(plan, rank, costs, parts));
    return (of: (cost: RankCost) => number): number[] => {
      const values = distinct.map(of);
      return contentOf.map((content) => values[content] ?? 0);
    };
  }

  /** Data-parallel communication of one rank; its own passes hide it. */
  private sharing(plan: Plan, rank: RankContent, parts: { kinds: readonly KindCost[]; numMicroBatches: number }) {
    const { workload, model } = this.problem;
    const { trained: held, frozen } = rankWeights(model, workload.adapters, plan, rank);
    const groups = groupsOf(this.problem, plan);
    const share = recomputedShareOf(plan, rank.layers);
    const over = (of: (kind: KindCost) => number) =>
      parts.kinds.reduce((sum, kind, index) => sum + (rank.counts[index] ?? 0) * of(kind), 0);
    const load = {
      layers: rank.layers,
      numMicroBatches: parts.numMicroBatches,
      gradientBytes: workload.gradientBytesPerParameter,
      weightBytes: workload.weightBytesPerParameter,
      // messages travel on while the device waits for its host
      forwardSeconds: over(({ cost }) => cost.forwardSeconds + this.hostWait(plan, cost, share).forwardSeconds),
      backwardSeconds: over(
        ({ cost, recomputeSeconds }) =>
          cost.backwardSeconds + share * recomputeSeconds + this.hostWait(plan, cost, share).backwardSeconds,
      ),
    };
    const ofDense = { isExperts: false, parameters: held.dense, frozenParameters: frozen.dense };
    const dense = dataParallelCost(this.links, plan, { ...load, ...ofDense }, groups);
    const experts =
      held.experts + frozen.experts === 0
        ? null
        : dataParallelCost(
            this.links,
            plan,
            {
              ...load,
              isExperts: true,
              parameters: held.experts,
              frozenParameters: frozen.experts,
              forwardSeconds: dense.freeForwardSeconds,
              backwardSeconds: dense.freeBackwardSeconds,
            },
            groups,
          );
    return { held, frozen, load, dense, experts };
  }

  /** Seconds per micro-batch that a rank waits for shards (ZeRO-2 and 3); zero where states are shared once a step. */
  private shardWait(plan: Plan, rank: RankContent, kinds: readonly KindCost[], numMicroBatches: number): number {
    if (plan.sharding.zeroStage < 2) return 0;
    const { dense, experts } = this.sharing(plan, rank, { kinds, numMicroBatches });
    const waits = [dense.gradReduce, dense.paramGather, experts?.gradReduce, experts?.paramGather];
    return waits.reduce((sum, one) => sum + (one?.perMicroBatchSeconds ?? 0), 0);
  }

  /** What follows the pipeline, for the rank that holds most parameters. */
  private tail(plan: Plan, kinds: readonly KindCost[], numMicroBatches: number) {
    const { rank } = this.heaviestRank(plan);
    if (rank === null) throw new Error('a pipeline without ranks');
    const { held, frozen, load, dense, experts } = this.sharing(plan, rank, { kinds, numMicroBatches });
    const frozenParameters = frozen.dense + frozen.experts;
    const waits = [dense.gradReduce, dense.paramGather, experts?.gradReduce, experts?.paramGather];
    const waitedSeconds = waits.reduce((sum, one) => sum + (one?.exposedSeconds ?? 0), 0);
    return {
      dpGroup: dense.group,
      expertGroup: experts?.group ?? null,
      gradReduce: dense.gradReduce,
      paramGather: dense.paramGather,
      expertGradReduce: experts?.gradReduce ?? nothing,
      expertParamGather: experts?.paramGather ?? nothing,
      embeddingExchange: this.embeddingExchange(plan),
      offload: offloadCost(this.problem, plan, held, { ...load, rank, waitedSeconds, frozenParameters }),
      ...this.optimizer(plan, held),
      overheadSeconds: this.problem.calibration.parameters.stepOverheadSeconds,
    };
  }

  /** The cost of a valid plan. Calling it for a plan that breaks a rule throws or gives meaningless numbers. */
  cost(plan: Plan): StepCost {
    const { model, workload } = this.problem;
    const ranks = ranksOf(model, plan);
    if (ranks === null) throw new Error(`cost of an invalid layout: ${JSON.stringify(plan.layout)}`);
    const costs = this.layerCosts(plan);
    const numMicroBatches = workload.globalBatchSize / (plan.dp * plan.microBatchSize);
    const { names } = stackOf(model);
    const kinds = costs.kinds.map((cost, index) => ({
      name: names[index] ?? '',
      cost,
      recomputeSeconds: this.recompute(plan, cost),
    }));
    const mtpSeconds = this.mtpSeconds(plan, costs);
    const perRank = this.rankCosts(plan, ranks, costs, { kinds, mtpSeconds, numMicroBatches });
    const rankSeconds = perRank(({ seconds }) => seconds);
    const send = sendCost(this.problem, this.links, plan);
    const schedule = scheduleOf(plan);
    const pipeline = schedule.seconds(pipelineShape(plan, numMicroBatches), {
      perRank: rankSeconds,
      ...(schedule.splitsBackward ? passesOf(ranks, costs) : null),
      send: send.seconds,
      isSendHidden: plan.overlap.pipeline && plan.vpp > 1,
    });
    const tail = this.tail(plan, kinds, numMicroBatches);
    return {
      numMicroBatches,
      ranks,
      rankSeconds,
      slowestRank: indexOfMost(rankSeconds),
      kinds,
      embedding: costs.embedding,
      head: costs.head,
      mtpSeconds,
      recomputedShare: perRank(({ recomputedShare }) => recomputedShare),
      shardWaits: perRank(({ shardWait }) => shardWait),
      hostWaits: perRank(({ hostWaitSeconds }) => hostWaitSeconds),
      pipeline,
      sendSeconds: send.seconds,
      sendBytes: send.bytes,
      ...tail,
      stepSeconds: pipeline.busy + pipeline.bubble + pipeline.sends + tailSeconds(tail, numMicroBatches),
    };
  }
}

interface RankCosts {
  kinds: readonly KindCost[];
  mtpSeconds: number;
  numMicroBatches: number;
}

interface RankCost {
  seconds: number;
  shardWait: number;
  hostWaitSeconds: number;
  recomputedShare: number;
}

/**
 * Share of a rank's layers that recomputation touches: all, or `layersPerStage` of each virtual stage (Megatron-LM's
 * recompute-num-layers with the block method).
 */
export function recomputedShareOf({ recompute, vpp }: Plan, layers: number): number {
  if (recompute.mode === 'none' || layers === 0) return 0;
  if (recompute.mode === 'selective' || recompute.layersPerStage === null) return 1;
  return Math.min(1, (recompute.layersPerStage * vpp) / layers);
}

type Tail = Pick<
  StepCost,
  | 'gradReduce'
  | 'paramGather'
  | 'expertGradReduce'
  | 'expertParamGather'
  | 'embeddingExchange'
  | 'offload'
  | 'optimizerSeconds'
  | 'overheadSeconds'
>;

function tailSeconds(tail: Tail, numMicroBatches: number): number {
  return (
    onceSeconds(tail.gradReduce, numMicroBatches) +
    onceSeconds(tail.paramGather, numMicroBatches) +
    onceSeconds(tail.expertGradReduce, numMicroBatches) +
    onceSeconds(tail.expertParamGather, numMicroBatches) +
    tail.embeddingExchange.exposedSeconds +
    tail.offload.exposedSeconds +
    tail.optimizerSeconds +
    tail.overheadSeconds
  );
}

/** Forward and weight gradients of each rank, s; as the operators tell them apart. */
function passesOf(ranks: readonly RankContent[], costs: LayerCosts) {
  const perRank = (of: (cost: LayerCost) => number) =>
    ranks.map(({ counts, hasEmbedding, hasHead }) =>
      costs.kinds.reduce(
        (sum, cost, kind) => sum + (counts[kind] ?? 0) * of(cost),
        (hasEmbedding ? of(costs.embedding) : 0) + (hasHead ? of(costs.head) : 0),
      ),
    );
  return {
    forwardPerRank: perRank((cost) => cost.forwardSeconds),
    weightGradientPerRank: perRank((cost) => cost.weightGradientSeconds),
  };
}

/** Index of the largest value; the first of equal ones. */
function indexOfMost(values: readonly number[]): number {
  return values.reduce((most, value, index) => (value > (values[most] ?? 0) ? index : most), 0);
}
