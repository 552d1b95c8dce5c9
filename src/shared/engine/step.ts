/**
 * The cost of one training step under a plan: stages from layers, the pipeline from stages, then what follows it.
 *
 * step = pipeline (busy + bubble + sends) + exposed gradient reduction + exposed parameter gather + tied-embedding
 * exchange + optimizer + fixed overhead. Source: MODEL §6 (iteration time), §5.3–5.4 (volumes and overlap).
 */
import type { Plan } from '../schema/index.ts';
import { memoryTime, processorOf, type Processor } from './compute.ts';
import { groupOf, groupSeconds, groupsOf, linksOf, neighbourSeconds, type Group, type Links } from './network/index.ts';
import { pipelineShape, scheduleOf, type PipelineSeconds } from './pipeline/schedules/index.ts';
import type { Problem } from './problem.ts';
import { ranksOf, residentRanksOf, type RankContent } from './stages.ts';
import { embeddingOperators, headOperators } from './workload/ends.ts';
import { toLayerCost, type LayerContext, type LayerCost } from './workload/operators.ts';
import { layerOperators } from './workload/layer.ts';
import { stackOf } from '../layer-stack.ts';
import { paddedVocabSize, rankParameters } from './workload/parameters.ts';

/** A communication that may run beside compute: all of it, and what is waited for. */
export interface Hideable {
  totalSeconds: number;
  exposedSeconds: number;
  bytes: number;
}

/** One kind of layer, per layer and micro-batch on one rank. */
export interface KindCost {
  name: string;
  cost: LayerCost;
  /** Seconds that recomputation adds to backward. */
  recomputeSeconds: number;
}

export interface StepCost {
  numMicroBatches: number;
  /** What each rank of the pipeline holds, and how long it works per micro-batch. */
  ranks: readonly RankContent[];
  rankSeconds: readonly number[];
  /** Index of the rank that works longest; its work is the pipeline's busy time. */
  slowestRank: number;
  /** Costs of each kind of the model's layers, per micro-batch. */
  kinds: readonly KindCost[];
  embedding: LayerCost;
  head: LayerCost;
  /** Fixed host time per layer and micro-batch (forward and backward). */
  layerOverheadSeconds: number;
  pipeline: PipelineSeconds;
  sendSeconds: number;
  sendBytes: number;
  dpGroup: Group;
  gradReduce: Hideable;
  paramGather: Hideable;
  embeddingExchange: Hideable;
  optimizerSeconds: number;
  overheadSeconds: number;
  stepSeconds: number;
}

interface LayerCosts {
  kinds: LayerCost[];
  embedding: LayerCost;
  head: LayerCost;
}

/** Bytes that Adam moves per parameter: reads g, p, m, v in fp32, writes p, m, v and the 16-bit weight. MODEL §4.4. */
const ADAM_BYTES = 30;
/** Gradient norm (read) and clearing (write) of a full gradient, per byte of gradient. */
const GRADIENT_PASSES = 2;
/** fp16 gradients are first copied to fp32, unscaled and checked for overflow: 2 + 4 read and write, 4 + 4 unscale. */
const FP16_GRADIENT_BYTES = 14;
/** Parameters per gradient bucket. Source: Megatron-LM, max(40e6, 1e6·dp) (MODEL §5.4). */
const bucketParameters = (dp: number): number => Math.max(40e6, 1e6 * dp);
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
    const { attentionKernel } = plan.runtime;
    const key = `${tp}/${plan.ep}/${plan.etp}/${microBatchSize}/${sequenceParallel}/${attentionKernel}/${plan.overlap.tp}`;
    const known = this.layers.get(key);
    if (known !== undefined) return known;
    const { model, workload } = this.problem;
    const context: LayerContext = {
      model,
      processor: this.processor,
      links: this.links,
      seqLen: workload.seqLen,
      microBatchSize,
      tokens: workload.seqLen * microBatchSize,
      tp,
      ep: plan.ep,
      etp: plan.etp,
      expertImbalance: 1,
      sequenceParallel,
      attentionKernel,
      tpOverlapFraction: plan.overlap.tp ? TP_OVERLAP_FRACTION : 0,
      isBackwardReduceHidden: workload.stackYear >= 2022,
      gradientBytesPerParameter: workload.gradientBytesPerParameter,
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

  private gradientReduction(plan: Plan, parameters: number, group: Group, availableSeconds: number): Hideable {
    const bytes = parameters * this.problem.workload.gradientBytesPerParameter;
    if (plan.dp === 1) return { totalSeconds: 0, exposedSeconds: 0, bytes: 0 };
    const op = plan.sharding.zeroStage >= 1 ? 'reduceScatter' : 'allReduce';
    if (!plan.overlap.gradReduce) {
      const totalSeconds = groupSeconds(this.links, op, group, bytes);
      return { totalSeconds, exposedSeconds: totalSeconds, bytes };
    }
    const numBuckets = Math.max(1, Math.ceil(parameters / bucketParameters(plan.dp)));
    const bucketSeconds = groupSeconds(this.links, op, group, bytes / numBuckets);
    const totalSeconds = bucketSeconds * numBuckets;
    // the last bucket is complete only when backward ends
    return { totalSeconds, exposedSeconds: Math.max(totalSeconds - availableSeconds, bucketSeconds), bytes };
  }

  private parameterGather(plan: Plan, parameters: number, group: Group, availableSeconds: number): Hideable {
    if (plan.dp === 1 || plan.sharding.zeroStage === 0) return { totalSeconds: 0, exposedSeconds: 0, bytes: 0 };
    const bytes = parameters * this.problem.workload.weightBytesPerParameter;
    const numBuckets = plan.overlap.paramGather ? Math.max(1, Math.ceil(parameters / bucketParameters(plan.dp))) : 1;
    const bucketSeconds = groupSeconds(this.links, 'allGather', group, bytes / numBuckets);
    const totalSeconds = bucketSeconds * numBuckets;
    const exposedSeconds = plan.overlap.paramGather
      ? Math.max(totalSeconds - availableSeconds, bucketSeconds)
      : totalSeconds;
    return { totalSeconds, exposedSeconds, bytes };
  }

  /** First and last stage sum the gradients of the tied embedding that both hold. */
  private embeddingExchange(plan: Plan): Hideable {
    const { model, workload } = this.problem;
    if (!model.tiedEmbeddings || plan.pp === 1) return { totalSeconds: 0, exposedSeconds: 0, bytes: 0 };
    const bytes = (paddedVocabSize(model, plan.tp) / plan.tp) * model.hiddenSize * workload.gradientBytesPerParameter;
    const seconds = groupSeconds(this.links, 'allReduce', groupsOf(this.problem, plan).embedding, bytes);
    return { totalSeconds: seconds, exposedSeconds: seconds, bytes };
  }

  private optimizer(plan: Plan, parameters: number): number {
    const { workload, calibration } = this.problem;
    const shards = plan.sharding.zeroStage >= 1 ? plan.dp : 1;
    const g = workload.gradientBytesPerParameter;
    const updated = ADAM_BYTES + (g === 2 ? FP16_GRADIENT_BYTES : 0) + g;
    const bytes = (updated * parameters) / shards + (GRADIENT_PASSES - 1) * g * parameters;
    const relative = this.processor.memoryEfficiency / calibration.parameters.optimizerEfficiency;
    return memoryTime(this.processor, bytes, 20) * relative;
  }

  /** Seconds per layer and micro-batch that the plan's recomputation repeats. */
  private recompute(plan: Plan, layer: LayerCost): number {
    if (plan.recompute.mode === 'full') return layer.forwardSeconds;
    return plan.recompute.mode === 'selective' ? layer.coreAttentionForwardSeconds : 0;
  }

  /** One send between stages: what it carries and how long it takes. */
  private send(plan: Plan): { bytes: number; seconds: number } {
    const { model, workload } = this.problem;
    const boundaryBytes = 2 * workload.seqLen * plan.microBatchSize * model.hiddenSize;
    // sequence parallelism sends the rank's own part; without it the scatter/gather optimisation does
    // (Narayanan et al. SC'21 §4.1)
    const bytes = boundaryBytes / plan.tp;
    if (plan.pp === 1) return { bytes, seconds: 0 };
    const tpGroup = groupOf(this.links.domainSize, plan.tp, 1);
    const regather = plan.sequenceParallel ? 0 : groupSeconds(this.links, 'allGather', tpGroup, boundaryBytes);
    const send = neighbourSeconds(this.links, bytes, groupsOf(this.problem, plan).pp);
    return { bytes, seconds: send + regather };
  }

  /** The rank that holds most parameters: how many, and what it holds. */
  private heaviestRank(plan: Plan): { parameters: number; rank: RankContent | null } {
    let heaviest: { parameters: number; rank: RankContent | null } = { parameters: -1, rank: null };
    for (const rank of residentRanksOf(this.problem.model, plan) ?? []) {
      const place = { isFirst: rank.hasEmbedding, isLast: rank.hasHead };
      const { dense, experts } = rankParameters(this.problem.model, plan, rank.counts, place);
      if (dense + experts > heaviest.parameters) heaviest = { parameters: dense + experts, rank };
    }
    return heaviest;
  }

  /** Seconds per micro-batch of each rank. */
  private rankSeconds(ranks: readonly RankContent[], costs: LayerCosts, kinds: KindCost[], overhead: number): number[] {
    const perLayer = kinds.map(
      ({ cost, recomputeSeconds }) => cost.forwardSeconds + cost.backwardSeconds + recomputeSeconds + overhead,
    );
    const embedding = costs.embedding.forwardSeconds + costs.embedding.backwardSeconds;
    const head = costs.head.forwardSeconds + costs.head.backwardSeconds;
    return ranks.map(({ counts, hasEmbedding, hasHead }) => {
      let seconds = (hasEmbedding ? embedding : 0) + (hasHead ? head : 0);
      for (let kind = 0; kind < counts.length; kind++) seconds += (counts[kind] ?? 0) * (perLayer[kind] ?? 0);
      return seconds;
    });
  }

  /** What follows the pipeline, for the rank that holds most parameters; its own passes hide its communication. */
  private tail(plan: Plan, kinds: readonly KindCost[]) {
    const { parameters, rank } = this.heaviestRank(plan);
    const dpGroup = groupsOf(this.problem, plan).dp;
    const over = (of: (kind: KindCost) => number) =>
      kinds.reduce((sum, kind, index) => sum + (rank?.counts[index] ?? 0) * of(kind), 0);
    const backward = over(({ cost, recomputeSeconds }) => cost.backwardSeconds + recomputeSeconds);
    const forward = over(({ cost }) => cost.forwardSeconds);
    return {
      dpGroup,
      gradReduce: this.gradientReduction(plan, parameters, dpGroup, backward),
      paramGather: this.parameterGather(plan, parameters, dpGroup, forward),
      embeddingExchange: this.embeddingExchange(plan),
      optimizerSeconds: this.optimizer(plan, parameters),
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
    const layerOverheadSeconds =
      this.problem.calibration.parameters.layerOverheadSeconds * (plan.recompute.mode === 'full' ? 4 / 3 : 1);
    const rankSeconds = this.rankSeconds(ranks, costs, kinds, layerOverheadSeconds);
    const send = this.send(plan);
    const schedule = scheduleOf(plan);
    const pipeline = schedule.seconds(pipelineShape(plan, numMicroBatches), {
      perRank: rankSeconds,
      ...(schedule.splitsBackward ? passesOf(ranks, costs) : null),
      send: send.seconds,
      isSendHidden: plan.overlap.pipeline && plan.vpp > 1,
    });
    const tail = this.tail(plan, kinds);
    const exposed =
      tail.gradReduce.exposedSeconds + tail.paramGather.exposedSeconds + tail.embeddingExchange.exposedSeconds;
    return {
      numMicroBatches,
      ranks,
      rankSeconds,
      slowestRank: indexOfMost(rankSeconds),
      kinds,
      embedding: costs.embedding,
      head: costs.head,
      layerOverheadSeconds,
      pipeline,
      sendSeconds: send.seconds,
      sendBytes: send.bytes,
      ...tail,
      stepSeconds:
        pipeline.busy + pipeline.bubble + pipeline.sends + exposed + tail.optimizerSeconds + tail.overheadSeconds,
    };
  }
}

/** Forward and weight gradients of each rank, s; of a matmul's backward half is the gradient of its weights. */
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
    weightGradientPerRank: perRank((cost) => cost.backward.matmul / 2),
  };
}

/** Index of the largest value; the first of equal ones. */
function indexOfMost(values: readonly number[]): number {
  return values.reduce((most, value, index) => (value > (values[most] ?? 0) ? index : most), 0);
}
