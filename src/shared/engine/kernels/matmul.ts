/** The device figures a kernel curve needs; the caller takes them from the catalogue. */
export interface DeviceRates {
  /** Dense peak of the multiply dtype, FLOP/s (no sparsity). */
  readonly peakFlopsPerSecond: number;
  /** Datasheet HBM (or GDDR) rate, bytes/s. */
  readonly memoryBytesPerSecond: number;
  /** Streaming multiprocessors (or cores) that share the tiles of one kernel. */
  readonly numMultiprocessors: number;
}

/** C[m,n] = A[m,k]·B[k,n]: m is tokens in a forward pass, n and k are the weight's sides. */
export interface MatmulShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/**
 * Parameters of one matmul curve (one accelerator, one dtype).
 *
 * | parameter                    | meaning                                                          | unit     | bounds      |
 * |------------------------------|------------------------------------------------------------------|----------|-------------|
 * | launchSeconds                | fixed cost of one kernel                                         | s        | 0.1–20 µs   |
 * | peakEfficiency               | share of dense peak of one full wave of 256×128 tiles, k → ∞     | 0–1      | 0.2–0.98    |
 * | depthOverheadElements        | pipeline fill and write-back of a tile, as extra depth           | k elem.  | 1–4096      |
 * | memoryEfficiency             | share of the memory rate that the operands are streamed at       | 0–1      | 0.2–1       |
 * | overlapExponent              | p of (c^p + m^p)^(1/p): 1 = compute and memory add, ∞ = overlap  | –        | 1–8         |
 * | sagFraction                  | extra compute time of an endless kernel (power-capped clocks)    | 0–1      | 0.001–1     |
 * | sagHalfFlops                 | kernel size at which half of that has set in                     | FLOP     | 1e9–3e13    |
 * | tileTrafficElements          | operand feed cost of a tile: weight of (1/rows + 1/columns)      | elements | 0.1–1000    |
 * | splitSeconds                 | extra cost of splitting k over several tiles                     | s        | 0.01–50 µs  |
 * | waveRoundingFraction         | 1: the last wave costs a full wave; 0: it costs its filling      | 0–1      | 0.01–1      |
 * | cachedBytes                  | operands the benchmark's repetitions found in L2 already         | bytes    | 1e4–1.5e8   |
 * | castBytesPerElement          | HBM bytes per element of A to quantise it first (0: none)        | bytes    | 0 or 0.1–60 |
 * | operandBytesPerElement       | size of one element of A and B (not fitted)                      | bytes    |             |
 * | outputBytesPerElement        | size of one element of C (not fitted)                            | bytes    |             |
 *
 * A benchmark repeats one shape, so small operands never leave L2; pass `cachedBytes: 0` for operands that come cold.
 */
export interface MatmulCurve {
  readonly launchSeconds: number;
  readonly peakEfficiency: number;
  readonly depthOverheadElements: number;
  readonly memoryEfficiency: number;
  readonly overlapExponent: number;
  readonly sagFraction: number;
  readonly sagHalfFlops: number;
  readonly tileTrafficElements: number;
  readonly splitSeconds: number;
  readonly waveRoundingFraction: number;
  readonly cachedBytes: number;
  readonly castBytesPerElement: number;
  readonly operandBytesPerElement: number;
  readonly outputBytesPerElement: number;
}

/** Tile shapes libraries ship for tensor cores (CUTLASS's default GEMM lists); the curve takes the fastest. */
const TILES = [
  [256, 128],
  [128, 256],
  [128, 128],
  [256, 64],
  [64, 256],
  [128, 64],
  [64, 128],
  [64, 64],
] as const;
const SPLITS = [1, 2, 3, 4, 6, 8, 16, 32] as const;
/** Depth one tile advances per main-loop step. */
const DEPTH_STEP = 32;
const FLOAT32_BYTES = 4;

/** Arithmetic intensity from which a matmul can be bound by compute, FLOP per byte. Source: MODEL §4.1. */
export function ridgeIntensity(device: Pick<DeviceRates, 'peakFlopsPerSecond' | 'memoryBytesPerSecond'>): number {
  return device.peakFlopsPerSecond / device.memoryBytesPerSecond;
}

const tilesOf = (m: number, n: number, rows: number, columns: number): number =>
  Math.ceil(m / rows) * Math.ceil(n / columns);

/**
 * Tiles of an output, the waves in which the multiprocessors work them off, and the share of those waves that is output:
 * ⌈m/rows⌉·⌈n/columns⌉, ⌈tiles/SM⌉, m·n ÷ (rows·columns·waves·SM). Source: MODEL §4.1.
 */
export function tileWaves(
  { m, n }: Pick<MatmulShape, 'm' | 'n'>,
  [rows, columns]: readonly [number, number],
  numMultiprocessors: number,
): { tiles: number; waves: number; efficiency: number } {
  const tiles = tilesOf(m, n, rows, columns);
  const waves = Math.ceil(tiles / numMultiprocessors);
  return { tiles, waves, efficiency: (m * n) / (rows * columns * waves * numMultiprocessors) };
}

/**
 * Seconds one matmul kernel runs.
 *
 * Form: launch + (compute^p + memory^p)^(1/p) + cast (roofline of MODEL §4.1 with a smooth corner). Compute
 * is that of the fastest of eight tile shapes and eight splits of k, each rounded up to whole tiles and waves.
 * Assumes: aligned dimensions (see {@link matmulAlignmentFactor}), row-major operands read once from memory.
 * Never decreases when m, n or k grows: each tiling's time does not, so their minimum does not.
 * Source: fitted by tools/fit-kernels to the measured tables; errors in docs/KERNELS.md.
 */
export function matmulSeconds(curve: MatmulCurve, device: DeviceRates, shape: MatmulShape): number {
  const { m, n, k } = shape;
  const flops = 2 * m * n * k;
  if (flops <= 0) return 0;
  const memoryRate = device.memoryBytesPerSecond * curve.memoryEfficiency;
  const bytes = curve.operandBytesPerElement * (m * k + k * n) + curve.outputBytesPerElement * m * n;
  // Nearly all of a small working set is cached, all but `cachedBytes` of a large one is not; the share grows smoothly.
  const memory = (bytes * bytes) / (bytes + curve.cachedBytes) / memoryRate;
  // The sag multiplies a time that grows with size, so the product still grows (MODEL §4.1: power-capped clocks).
  const sag = 1 + (curve.sagFraction * flops) / (flops + curve.sagHalfFlops);
  const compute = sag * fastestTilingSeconds(curve, device, shape, memoryRate);
  const p = curve.overlapExponent;
  // Scaling by the larger term keeps the powers of microseconds away from underflow.
  const larger = Math.max(compute, memory);
  const busy = larger * ((compute / larger) ** p + (memory / larger) ** p) ** (1 / p);
  return curve.launchSeconds + busy + castSeconds(curve, device, shape);
}

/**
 * Seconds of that kernel which only quantise the activations; 0 for curves whose operands arrive in their dtype.
 * Training stacks fuse this into the operator before, so subtract it there.
 */
export function castSeconds(curve: MatmulCurve, device: DeviceRates, shape: MatmulShape): number {
  return (curve.castBytesPerElement * shape.m * shape.k) / (device.memoryBytesPerSecond * curve.memoryEfficiency);
}

/** Compute seconds (before sag) of the fastest tile shape and k split. */
function fastestTilingSeconds(curve: MatmulCurve, device: DeviceRates, shape: MatmulShape, memoryRate: number): number {
  const { m, n, k } = shape;
  const flopsRate = device.peakFlopsPerSecond * curve.peakEfficiency;
  const largestTileFeed = 1 + curve.tileTrafficElements * (1 / 256 + 1 / 128);
  // Partial sums of a split are written and read back in float32, mostly from L2, at twice the streaming rate.
  const partialSumSeconds = (m * n * 2 * FLOAT32_BYTES) / (2 * memoryRate);
  let best = Infinity;
  for (const [rows, columns] of TILES) {
    const numTiles = tilesOf(m, n, rows, columns);
    const feed = (1 + curve.tileTrafficElements * (1 / rows + 1 / columns)) / largestTileFeed;
    // One column of depth through one tile by one multiprocessor.
    const secondsPerDepth = (2 * rows * columns * feed * device.numMultiprocessors) / flopsRate;
    for (const split of SPLITS) {
      const depth = Math.ceil(k / split / DEPTH_STEP) * DEPTH_STEP + curve.depthOverheadElements;
      const filling = (numTiles * split) / device.numMultiprocessors;
      if (filling * depth * secondsPerDepth >= best) continue; // a lower bound: whole waves cost no less
      const waves = effectiveWaves(filling, curve.waveRoundingFraction);
      const reduction = split === 1 ? 0 : curve.splitSeconds + split * partialSumSeconds;
      best = Math.min(best, waves * depth * secondsPerDepth + reduction);
    }
  }
  return best;
}

/**
 * Waves that a kernel costs whose tiles fill the device `filling` times.
 * Source: MODEL §4.1, waves = ceil(tiles/SM); softened because small tiles share a multiprocessor.
 */
function effectiveWaves(filling: number, roundingFraction: number): number {
  return Math.max(1, roundingFraction * Math.ceil(filling) + (1 - roundingFraction) * filling);
}

/**
 * Factor on the time of a matmul whose dimensions per rank are not whole multiples of 64 elements.
 * The tables hold no such shapes (nothing below 32, all multiples of 32), so this is a default, not a fit.
 * Source: MODEL §4.1: training runs at such shapes ran 1.7–2× slower than the curve; 1.85 is the middle. A dimension
 * that is not a multiple of 8 leaves the tensor cores' vector loads (NVIDIA matmul guide) and costs at least as much.
 */
export function matmulAlignmentFactor(shape: MatmulShape): number {
  return [shape.n, shape.k].every((side) => side % 64 === 0) ? 1 : 1.85;
}
