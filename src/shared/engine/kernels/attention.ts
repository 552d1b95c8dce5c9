import type { DeviceRates } from './matmul.ts';

/** One causal self-attention forward call on one rank: heads and KV heads of that rank. */
export interface AttentionShape {
  readonly batch: number;
  readonly seqLen: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
}

/**
 * Parameters of one attention curve (one accelerator, one dtype).
 *
 * | parameter              | meaning                                                               | unit      | bounds     |
 * |------------------------|-----------------------------------------------------------------------|-----------|------------|
 * | launchSeconds          | fixed cost: launches of the preparation and attention kernels         | s         | 1–60 µs    |
 * | peakEfficiency         | share of dense peak of the two matmuls alone                          | 0–1       | 0.1–0.98   |
 * | softmaxElements        | cost of one score's exponential and rescaling, as extra head elements | elements  | 1–128      |
 * | tunedHeadDimFactor     | time of a score at head size 128, the one kernels are tuned for       | –         | 0.75–1.25  |
 * | rowOverheadKeys        | fixed cost of one query row, as extra keys of a 128-wide head         | keys      | 1–8192     |
 * | queryPasses            | how often the queries and outputs cross the memory bus                | –         | 0.2–20     |
 * | keyValuePasses         | how often the keys and values do (read, rotate, write to the cache)   | –         | 0.1–20     |
 * | tailFraction           | share of the longest query block that runs after all others           | –         | 0.05–3     |
 * | sagFraction            | extra compute time of an endless kernel (power-capped clocks)         | 0–1       | 0.001–1    |
 * | sagHalfFlops           | kernel size at which half of that has set in                          | FLOP      | 1e9–1e13   |
 * | bytesPerElement        | size of one element of Q, K, V and O (not fitted)                     | bytes     |            |
 */
export interface AttentionCurve {
  readonly launchSeconds: number;
  readonly peakEfficiency: number;
  readonly softmaxElements: number;
  readonly tunedHeadDimFactor: number;
  readonly rowOverheadKeys: number;
  readonly queryPasses: number;
  readonly keyValuePasses: number;
  readonly tailFraction: number;
  readonly sagFraction: number;
  readonly sagHalfFlops: number;
  readonly bytesPerElement: number;
}

/** Query rows one thread block owns in FlashAttention-2 and the TensorRT-LLM context kernels. */
const QUERY_BLOCK = 128;
/** Head size that libraries tune for, and that {@link AttentionCurve.rowOverheadKeys} is expressed in. */
const TUNED_HEAD_DIM = 128;

/**
 * FLOP of one causal attention forward call: QKᵀ and PV, each 2·s²·dh per head, halved by the causal mask.
 * Source: MODEL §4.2, 2·b·a·s²·dh.
 */
export function causalAttentionFlops(shape: AttentionShape): number {
  return 2 * shape.batch * shape.numHeads * shape.seqLen ** 2 * shape.headDim;
}

/**
 * Seconds of one causal flash-attention forward call, with the rotary and cache-write pass that precedes it.
 *
 * 1. memory: Q and O, K and V at the datasheet rate                                    + passes·bytes / B
 * 2. scores: s²/2 per head, each 4·(dh + softmax) FLOP of the peak                     + scores·(1 + sag)
 * 3. rows: start and end of each query row                                             + rows
 * 4. tail: a block of 128 queries against all keys cannot be split over processors     + tail·longest block
 *
 * Terms 2 to 4 are the bound of list scheduling, work/processors + longest job (Graham 1969). Memory adds because
 * the preparation is a kernel of its own. Never decreases when an argument grows.
 * Source: fitted by tools/fit-kernels; FLOP convention as {@link causalAttentionFlops}; errors in docs/KERNELS.md.
 */
export function attentionSeconds(curve: AttentionCurve, device: DeviceRates, shape: AttentionShape): number {
  const { batch, seqLen, numHeads, numKvHeads, headDim } = shape;
  const flops = causalAttentionFlops(shape);
  if (flops <= 0) return 0;
  const bytesPerHead = curve.bytesPerElement * batch * seqLen * headDim;
  const queryBytes = curve.queryPasses * 2 * numHeads * bytesPerHead;
  const keyValueBytes = curve.keyValuePasses * 2 * numKvHeads * bytesPerHead;
  const memory = (queryBytes + keyValueBytes) / device.memoryBytesPerSecond;
  const flopsRate = device.peakFlopsPerSecond * curve.peakEfficiency;
  const secondsPerScore = (4 * elementsPerScore(curve, headDim)) / flopsRate;
  const sag = 1 + (curve.sagFraction * flops) / (flops + curve.sagHalfFlops);
  const numRows = batch * numHeads * seqLen;
  const scores = ((numRows * seqLen) / 2) * secondsPerScore * sag;
  const rows = ((numRows * curve.rowOverheadKeys) / 2) * ((4 * TUNED_HEAD_DIM) / flopsRate);
  const longestBlock = QUERY_BLOCK * seqLen * secondsPerScore * device.numMultiprocessors;
  return curve.launchSeconds + memory + scores + rows + curve.tailFraction * longestBlock;
}

/**
 * Head elements one score costs: dh + softmax, scaled at 128 and blended linearly towards 64 and 256, the sizes that
 * general kernels serve. Bounds of the two parameters keep it increasing in headDim.
 */
function elementsPerScore(curve: AttentionCurve, headDim: number): number {
  const plain = headDim + curve.softmaxElements;
  const distance = headDim < TUNED_HEAD_DIM ? 2 * (1 - headDim / TUNED_HEAD_DIM) : headDim / TUNED_HEAD_DIM - 1;
  const gain = (1 - curve.tunedHeadDimFactor) * (TUNED_HEAD_DIM + curve.softmaxElements);
  return plain - gain * Math.max(0, 1 - distance);
}
