export type CollectiveOp = 'allReduce' | 'allGather' | 'reduceScatter' | 'allToAll';

/** One collective among ranks of one node (one NVLink or PCIe domain). */
export interface CollectiveCall {
  readonly op: CollectiveOp;
  /**
   * Size S of the whole array, bytes: the reduced array, the gathered result, the array that is scattered, and for
   * allToAll all that one rank sends, its own part included (nccl-tests' "size" column).
   */
  readonly bytes: number;
  readonly numRanks: number;
}

/**
 * Parameters of one operation on one accelerator.
 *
 * | parameter            | meaning                                                              | unit    | bounds        |
 * |----------------------|----------------------------------------------------------------------|---------|---------------|
 * | baseSeconds          | fixed cost of the kernel                                             | s       | 0.1–60 µs     |
 * | stepSeconds          | cost of one of the ring's steps (n−1, for allReduce 2(n−1))          | s       | 0.01–30 µs    |
 * | fillSeconds          | time one chunk costs besides its bytes: sets the half-bandwidth size | s       | 0.001–1000 µs |
 * | bulkStepSeconds      | extra cost of a step in the protocol that NCCL uses for large arrays | s       | 1 ns–100 µs   |
 * | bulkRankBytes        | array size per rank at which that protocol is half taken             | bytes   | 1e4–1.6e7     |
 * | busBandwidths        | bus bandwidth of endless arrays by rank count, ascending             | bytes/s | 1e8–2e12      |
 */
export interface CollectiveCurve {
  readonly baseSeconds: number;
  readonly stepSeconds: number;
  readonly fillSeconds: number;
  readonly bulkStepSeconds: number;
  readonly bulkRankBytes: number;
  readonly busBandwidths: readonly BusBandwidth[];
}

export interface BusBandwidth {
  readonly numRanks: number;
  readonly busBytesPerSecond: number;
}

export type CollectiveCurves = Readonly<Record<CollectiveOp, CollectiveCurve>>;

/** The change of protocol spreads over about one doubling of size: channel counts change with it. */
const BULK_SHARPNESS = 4;

/**
 * Bytes that cross the slowest link per byte of the array: busBw = factor·S/t.
 * Source: nccl-tests doc/PERFORMANCE.md: allReduce 2(n−1)/n; allGather, reduceScatter, allToAll (n−1)/n.
 */
export function busFactor(op: CollectiveOp, numRanks: number): number {
  const share = (numRanks - 1) / numRanks;
  return op === 'allReduce' ? 2 * share : share;
}

/** Seconds that one step of a ring takes besides its bytes, for that part of the array per rank. */
export function ringStepSeconds(curve: CollectiveCurve, rankBytes: number): number {
  const bulkShare = 1 / (1 + (curve.bulkRankBytes / rankBytes) ** BULK_SHARPNESS);
  return curve.stepSeconds + bulkShare * curve.bulkStepSeconds;
}

/**
 * Seconds of one collective inside a node; 0 for one rank or an empty array.
 *
 * Form: base + steps·(step + bulk) + T + 2·√(T·fill) with T = busFactor·S/busBandwidth. The root is what pipelining over the
 * best chunk size costs: (T/c)·c + fill·T/c + c is smallest at c = √(T·fill). So S at half bandwidth grows with fill.
 * Assumes: all ranks on one node; beyond the largest measured count the bus bandwidth stays that of the largest.
 * Source: latency of ring steps and bandwidths as MODEL §5.1–5.2; fitted by tools/fit-kernels, docs/KERNELS.md.
 */
export function collectiveSeconds(curves: CollectiveCurves, call: CollectiveCall): number {
  const { op, bytes, numRanks } = call;
  if (numRanks <= 1 || bytes <= 0) return 0;
  const curve = curves[op];
  const steps = op === 'allReduce' ? 2 * (numRanks - 1) : numRanks - 1;
  const stepSeconds = ringStepSeconds(curve, bytes / numRanks);
  const transfer = (busFactor(op, numRanks) * bytes) / busBandwidth(curve.busBandwidths, numRanks);
  return curve.baseSeconds + steps * stepSeconds + transfer + 2 * Math.sqrt(transfer * curve.fillSeconds);
}

/** Bytes/s at a rank count: linear between measured counts in log2(n), constant outside them. */
function busBandwidth(points: readonly BusBandwidth[], numRanks: number): number {
  let below: BusBandwidth | undefined;
  for (const point of points) {
    if (point.numRanks >= numRanks) {
      if (below === undefined || point.numRanks === numRanks) return point.busBytesPerSecond;
      const along = Math.log2(numRanks / below.numRanks) / Math.log2(point.numRanks / below.numRanks);
      return below.busBytesPerSecond + along * (point.busBytesPerSecond - below.busBytesPerSecond);
    }
    below = point;
  }
  if (below === undefined) throw new Error('a collective curve needs at least one bus bandwidth');
  return below.busBytesPerSecond;
}
