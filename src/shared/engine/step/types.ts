/** What the cost of a step consists of. */
import type { Group } from '../network/index.ts';
import type { PipelineSeconds } from '../pipeline/schedules/index.ts';
import type { RankContent } from '../stages.ts';
import type { LayerCost } from '../workload/operators.ts';
import type { Hideable } from './data-parallel.ts';

/** One kind of layer, per layer and micro-batch on one rank. */
export interface KindCost {
  name: string;
  cost: LayerCost;
  /** Seconds that recomputing one such layer adds to backward. */
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
  /** One multi-token-prediction layer: a layer of the last kind, its projection, and a pass of the head. */
  mtpSeconds: number;
  /** Share of its layers that a rank recomputes. */
  recomputedShare: readonly number[];
  /** Seconds per micro-batch that each rank waits for shards of weights and gradients. */
  shardWaits: readonly number[];
  /** Seconds per micro-batch that each rank waits for its host to start kernels. */
  hostWaits: readonly number[];
  pipeline: PipelineSeconds;
  sendSeconds: number;
  sendBytes: number;
  dpGroup: Group;
  /** Ranks that hold the same experts; null in a model without. */
  expertGroup: Group | null;
  gradReduce: Hideable;
  paramGather: Hideable;
  /** The same for experts, whose ranks are others. */
  expertGradReduce: Hideable;
  expertParamGather: Hideable;
  embeddingExchange: Hideable;
  /** Traffic of offloaded states and activations that the step waits for. */
  offload: Hideable;
  /** Bytes that the optimizer moves, and how long that takes. */
  optimizerBytes: number;
  optimizerSeconds: number;
  overheadSeconds: number;
  stepSeconds: number;
}
