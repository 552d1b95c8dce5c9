/** The kernel kinds: how their tables become rows, and which parameters are fitted within which bounds. */
import {
  attentionSeconds,
  causalAttentionFlops,
  collectiveSeconds,
  matmulSeconds,
  type AttentionCurve,
  type AttentionShape,
  type CollectiveCurve,
  type CollectiveOp,
  type DeviceRates,
  type MatmulCurve,
  type MatmulShape,
} from '../../src/shared/engine/kernels/index.ts';
import type { CurveKind, Row } from './fit.ts';
import type { Parameter } from './least-squares.ts';
import { numberIn, secondsIn, type TableRow } from './tables.ts';

export type MatmulRow = Row & MatmulShape;
export type AttentionRow = Row & AttentionShape;
export type CollectiveRow = Row & { readonly op: CollectiveOp; readonly bytes: number; readonly numRanks: number };

const GIGA = 1e9;
const MEBI = 2 ** 20;
/** Rows that do not matter in training still hold the launch cost down, at this weight. */
const SIDE_WEIGHT = 0.3;
/** The tables' message length is in elements of half precision. */
const HALF_BYTES = 2;

export function matmulRow(row: TableRow): MatmulRow {
  const [m, n, k] = [numberIn(row, 'm'), numberIn(row, 'n'), numberIn(row, 'k')];
  const flops = 2 * m * n * k;
  const matters = m >= 256 && flops >= GIGA;
  const weight = matters ? sizeWeight(flops) : SIDE_WEIGHT;
  const bucket = m < 256 ? 'm<256' : `m>=256, 1e${Math.max(8, Math.min(13, Math.floor(Math.log10(flops))))} FLOP`;
  return { m, n, k, seconds: secondsIn(row), matters, weight, bucket, key: `${m},${n},${k}` };
}

/** Large kernels fill a training step but are few in the tables: a weight per decade evens that out. */
function sizeWeight(flops: number): number {
  return Math.min(4, Math.max(1, Math.log10(flops) - 9));
}

export function attentionRow(row: TableRow): AttentionRow {
  const shape = {
    batch: numberIn(row, 'batch'),
    seqLen: numberIn(row, 'seq'),
    numHeads: numberIn(row, 'heads'),
    numKvHeads: numberIn(row, 'kv_heads'),
    headDim: numberIn(row, 'head_dim'),
  };
  const matters = shape.seqLen >= 1024 && shape.headDim <= 256 && causalAttentionFlops(shape) >= GIGA;
  const bucket = `headDim ${shape.headDim}, seqLen ${shape.seqLen < 1024 ? '<1k' : shape.seqLen < 4096 ? '1k-3k' : '4k-16k'}`;
  const weight = matters ? 1 : SIDE_WEIGHT;
  return { ...shape, seconds: secondsIn(row), matters, weight, bucket, key: Object.values(shape).join(',') };
}

const TABLE_OPS: Readonly<Record<string, CollectiveOp>> = {
  all_reduce: 'allReduce',
  all_gather: 'allGather',
  reduce_scatter: 'reduceScatter',
  alltoall: 'allToAll',
};

/**
 * `message_elements` counts the whole array, as nccl-tests' size column does: 268 M elements gathered by 8 H100 in
 * 1.40 ms are 335 GB/s of bus bandwidth, the rate of an H100's NVLink ring (MODEL §5.2); read as a per-rank part they
 * would be eight times that, above the link's 450 GB/s.
 */
export function collectiveRow(row: TableRow): CollectiveRow {
  const op = TABLE_OPS[row['op'] ?? ''];
  if (op === undefined) throw new Error(`unknown collective ${String(row['op'])}`);
  const bytes = HALF_BYTES * numberIn(row, 'message_elements');
  const numRanks = numberIn(row, 'gpus');
  const bucket = bytes < MEBI ? '<1 MiB' : bytes < 16 * MEBI ? '1-8 MiB' : '>=16 MiB';
  return {
    op,
    bytes,
    numRanks,
    seconds: secondsIn(row),
    matters: bytes >= MEBI,
    weight: bytes >= MEBI ? 1 : SIDE_WEIGHT,
    bucket,
    key: `${op},${numRanks},${bytes}`,
  };
}

export interface MatmulDtype {
  readonly operandBytesPerElement: number;
  /** Whether the measured call quantises the activations first. */
  readonly casts: boolean;
}

/**
 * Bounds and start values. `sagHalfFlops` ends below the largest kernels of the tables, so that most of the sag was
 * seen and little of it is extrapolated.
 */
export function matmulKind(device: DeviceRates, dtype: MatmulDtype): CurveKind<MatmulRow, MatmulCurve> {
  const parameters: Parameter[] = [
    { name: 'launchSeconds', start: 3e-6, lower: 1e-7, upper: 2e-5 },
    { name: 'peakEfficiency', start: 0.85, lower: 0.2, upper: 0.98 },
    { name: 'depthOverheadElements', start: 150, lower: 1, upper: 4096 },
    { name: 'memoryEfficiency', start: 0.8, lower: 0.2, upper: 1 },
    { name: 'cachedBytes', start: 1e7, lower: 1e4, upper: 1.5e8 },
    { name: 'overlapExponent', start: 3, lower: 1, upper: 8 },
    { name: 'sagFraction', start: 0.1, lower: 1e-3, upper: 1 },
    { name: 'sagHalfFlops', start: 1e13, lower: 1e9, upper: 3e13 },
    { name: 'tileTrafficElements', start: 20, lower: 0.1, upper: 1000 },
    { name: 'splitSeconds', start: 1.5e-6, lower: 1e-8, upper: 5e-5 },
    { name: 'waveRoundingFraction', start: 0.7, lower: 0.01, upper: 1 },
    ...(dtype.casts ? [{ name: 'castBytesPerElement', start: 3, lower: 0.1, upper: 60 }] : []),
  ];
  return {
    parameters,
    toCurve: (values) => {
      const value = (name: string): number => valueOf(parameters, values, name);
      return {
        launchSeconds: value('launchSeconds'),
        peakEfficiency: value('peakEfficiency'),
        depthOverheadElements: value('depthOverheadElements'),
        memoryEfficiency: value('memoryEfficiency'),
        overlapExponent: value('overlapExponent'),
        sagFraction: value('sagFraction'),
        sagHalfFlops: value('sagHalfFlops'),
        tileTrafficElements: value('tileTrafficElements'),
        splitSeconds: value('splitSeconds'),
        waveRoundingFraction: value('waveRoundingFraction'),
        cachedBytes: value('cachedBytes'),
        castBytesPerElement: dtype.casts ? value('castBytesPerElement') : 0,
        operandBytesPerElement: dtype.operandBytesPerElement,
        outputBytesPerElement: 2,
      };
    },
    predict: (curve, row) => matmulSeconds(curve, device, row),
  };
}

/**
 * Softmax cost where the table holds one head size only (A100, 128) and cannot separate it from the matmuls: between
 * the values fitted to the H100 and H200 tables (27.8, 27.9), which hold four sizes.
 */
const ASSUMED_SOFTMAX_ELEMENTS = 28;

export function attentionKind(device: DeviceRates, numHeadDims: number): CurveKind<AttentionRow, AttentionCurve> {
  const identifiable = numHeadDims > 1;
  const parameters: Parameter[] = [
    { name: 'launchSeconds', start: 1.2e-5, lower: 1e-6, upper: 6e-5 },
    { name: 'peakEfficiency', start: 0.7, lower: 0.1, upper: 0.98 },
    ...(identifiable
      ? [
          { name: 'softmaxElements', start: 30, lower: 1, upper: 128 },
          { name: 'tunedHeadDimFactor', start: 1, lower: 0.75, upper: 1.25 },
        ]
      : []),
    { name: 'rowOverheadKeys', start: 600, lower: 1, upper: 8192 },
    { name: 'queryPasses', start: 1.5, lower: 0.2, upper: 20 },
    { name: 'keyValuePasses', start: 2, lower: 0.1, upper: 20 },
    { name: 'tailFraction', start: 0.6, lower: 0.05, upper: 3 },
    { name: 'sagFraction', start: 0.08, lower: 1e-3, upper: 1 },
    { name: 'sagHalfFlops', start: 2e12, lower: 1e9, upper: 1e13 },
  ];
  return {
    parameters,
    toCurve: (values) => {
      const value = (name: string): number => valueOf(parameters, values, name);
      return {
        launchSeconds: value('launchSeconds'),
        peakEfficiency: value('peakEfficiency'),
        softmaxElements: identifiable ? value('softmaxElements') : ASSUMED_SOFTMAX_ELEMENTS,
        tunedHeadDimFactor: identifiable ? value('tunedHeadDimFactor') : 1,
        rowOverheadKeys: value('rowOverheadKeys'),
        queryPasses: value('queryPasses'),
        keyValuePasses: value('keyValuePasses'),
        tailFraction: value('tailFraction'),
        sagFraction: value('sagFraction'),
        sagHalfFlops: value('sagHalfFlops'),
        bytesPerElement: 2,
      };
    },
    predict: (curve, row) => attentionSeconds(curve, device, row),
  };
}

/** One operation; `rankCounts` are the counts in its table, each with a bandwidth of its own. */
export function collectiveKind(
  op: CollectiveOp,
  rankCounts: readonly number[],
): CurveKind<CollectiveRow, CollectiveCurve> {
  const bandwidths = rankCounts.map((numRanks) => ({ name: `busBytesPerSecond${numRanks}`, numRanks }));
  const parameters: Parameter[] = [
    { name: 'baseSeconds', start: 6e-6, lower: 1e-7, upper: 6e-5 },
    { name: 'stepSeconds', start: 8e-7, lower: 1e-8, upper: 3e-5 },
    { name: 'fillSeconds', start: 5e-6, lower: 1e-9, upper: 1e-3 },
    { name: 'bulkStepSeconds', start: 1e-6, lower: 1e-9, upper: 1e-4 },
    { name: 'bulkRankBytes', start: MEBI, lower: 1e4, upper: 1.6e7 },
    ...bandwidths.map(({ name }) => ({ name, start: 2e11, lower: 1e8, upper: 2e12 })),
  ];
  return {
    parameters,
    toCurve: (values) => {
      const value = (name: string): number => valueOf(parameters, values, name);
      return {
        baseSeconds: value('baseSeconds'),
        stepSeconds: value('stepSeconds'),
        fillSeconds: value('fillSeconds'),
        bulkStepSeconds: value('bulkStepSeconds'),
        bulkRankBytes: value('bulkRankBytes'),
        busBandwidths: bandwidths.map(({ name, numRanks }) => ({ numRanks, busBytesPerSecond: value(name) })),
      };
    },
    predict: (curve, row) => {
      const curves = { allReduce: curve, allGather: curve, reduceScatter: curve, allToAll: curve };
      return collectiveSeconds(curves, { op, bytes: row.bytes, numRanks: row.numRanks });
    },
  };
}

function valueOf(parameters: readonly Parameter[], values: readonly number[], name: string): number {
  const value = values[parameters.findIndex((parameter) => parameter.name === name)];
  if (value === undefined) throw new Error(`no parameter ${name}`);
  return value;
}
