/**
 * Bytes that one rank sends, by what is split. They are what collectives move at least; time follows from `groupSeconds`.
 * Source: MODEL §5.3.
 */

/** Share of an array that a rank does not hold itself: (n−1)/n. */
const others = (ranks: number): number => 1 - 1 / ranks;

interface Activations {
  seqLen: number;
  microBatchSize: number;
  hiddenSize: number;
  bytesPerElement: number;
}

const activationBytes = ({ seqLen, microBatchSize, hiddenSize, bytesPerElement }: Activations): number =>
  bytesPerElement * seqLen * microBatchSize * hiddenSize;

/**
 * Tensor parallelism, per layer and micro-batch: four all-reduces (two forward, two backward), each 2·(t−1)/t of the
 * activations. Sequence parallelism splits each into reduce-scatter and all-gather and gathers two saved inputs again.
 * Source: Narayanan et al. SC'21 §3.2; Korthikanti et al. 2022 §4.2.2.
 */
export function tensorParallelBytes(activations: Activations, tp: number, sequenceParallel: boolean): number {
  return (sequenceParallel ? 10 : 8) * activationBytes(activations) * others(tp);
}

/**
 * One send between stages per micro-batch and direction; 1/t of it where each tensor-parallel rank sends its own part.
 * Source: Narayanan et al. SC'21 §4.1.
 */
export function pipelineSendBytes(activations: Activations, tp: number, isSplit: boolean): number {
  return activationBytes(activations) / (isSplit ? tp : 1);
}

/**
 * Gradients and weights over d ranks per step, per byte of parameters in the type that is sent: reduce-scatter and
 * all-gather (2·(d−1)/d), with ZeRO stage 3 one more gather for backward. Source: ZeRO (Rajbhandari et al. 2020) §7.
 */
export function dataParallelBytes(parameterBytes: number, zeroStage: number, dp: number): number {
  return (zeroStage === 3 ? 3 : 2) * parameterBytes * others(dp);
}

/** Hybrid sharding: two gathers and a reduce-scatter inside F ranks, an all-reduce of each part between R of them. */
export function hybridShardBytes(parameterBytes: number, shards: number, replicas: number) {
  return {
    inside: 3 * parameterBytes * others(shards),
    between: (2 * parameterBytes * others(replicas)) / shards,
  };
}

interface AttentionShape {
  seqLen: number;
  microBatchSize: number;
  numHeads: number;
  numKvHeads: number;
  headDim: number;
  bytesPerElement: number;
}

/** Context parallelism by ring or all-gather: keys and values of all others, per layer, forward. Backward: twice that. */
export function contextRingBytes(shape: AttentionShape, cp: number): number {
  const { seqLen, microBatchSize, numKvHeads, headDim, bytesPerElement } = shape;
  return others(cp) * 2 * bytesPerElement * seqLen * microBatchSize * numKvHeads * headDim;
}

/**
 * Context parallelism by all-to-all (Ulysses): queries, keys, values and outputs from tokens to heads and back, per
 * layer, forward; backward the same. Source: Jacobs et al. 2023 (DeepSpeed-Ulysses).
 */
export function ulyssesBytes(shape: AttentionShape, cp: number): number {
  const { seqLen, microBatchSize, numHeads, numKvHeads, headDim, bytesPerElement } = shape;
  const elements = (seqLen / cp) * microBatchSize * (2 * numHeads + 2 * numKvHeads) * headDim;
  return others(cp) * bytesPerElement * elements;
}

/** Tokens to experts or back, per MoE layer: every token to its k experts, evenly spread over ep ranks. */
export function expertBytes(
  routing: { tokens: number; hiddenSize: number; expertsPerToken: number; bytesPerElement: number },
  ep: number,
) {
  return routing.tokens * routing.expertsPerToken * routing.hiddenSize * routing.bytesPerElement * others(ep);
}

/** Different nodes that k experts of a token lie on, chosen evenly and independently among n: n·(1 − (1 − 1/n)^k). */
export function expectedNodes(expertsPerToken: number, nodes: number): number {
  return nodes * (1 - (1 - 1 / nodes) ** expertsPerToken);
}

/** Rate of one NIC from the bus bandwidth of an all-reduce over n ranks on k nodes: busBw·(k−1)/(n−1). */
export function nicRateOf(busBandwidth: number, nodes: number, ranks: number): number {
  return (busBandwidth * (nodes - 1)) / (ranks - 1);
}

/** Ring all-reduce of S bytes over n ranks, each with bandwidth B and latency α per step. Source: MODEL §5.1. */
export function ringAllReduceSeconds(
  bytes: number,
  ranks: number,
  bytesPerSecond: number,
  stepSeconds: number,
): number {
  return 2 * (ranks - 1) * stepSeconds + (2 * others(ranks) * bytes) / bytesPerSecond;
}
