import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  attentionSeconds,
  busFactor,
  castSeconds,
  causalAttentionFlops,
  collectiveSeconds,
  matmulAlignmentFactor,
  matmulSeconds,
  type AcceleratorCurves,
  type AttentionShape,
  type CollectiveOp,
  type KernelCurves,
  type MatmulCurve,
  type MatmulShape,
} from './index.ts';

const path = new URL('../../../../resources/calibration/kernels.json', import.meta.url);
const file = JSON.parse(readFileSync(path, 'utf8')) as KernelCurves;
const accelerators = Object.entries(file.accelerators);

/** Rounding may order two equal sums either way. */
const ROUNDING = 1 + 1e-9;
const COLLECTIVE_OPS: readonly CollectiveOp[] = ['allReduce', 'allGather', 'reduceScatter', 'allToAll'];

function curvesOf(id: string): AcceleratorCurves {
  const curves = file.accelerators[id];
  if (curves === undefined) throw new Error(`no curves for ${id}`);
  return curves;
}

function matmulCases(): { name: string; seconds: (shape: MatmulShape) => number; peak: number; memory: number }[] {
  return accelerators.flatMap(([id, { device, matmul }]) =>
    Object.entries(matmul).map(([dtype, curve]) => {
      const unit = { bf16: 'bf16', nvfp4: 'fp4' }[dtype] ?? 'fp8';
      const peak = device.peakFlopsPerSecondByDtype[unit] ?? Number.NaN;
      const rates = { ...device, peakFlopsPerSecond: peak };
      return {
        name: `${id} ${dtype}`,
        seconds: (shape: MatmulShape) => matmulSeconds(curve, rates, shape),
        peak,
        memory: device.memoryBytesPerSecond,
      };
    }),
  );
}

/** Sizes from 1 to beyond every training matmul, evenly in magnitude, so that small and odd ones are tried too. */
const side = fc.double({ min: 0, max: 18, noNaN: true }).map((power) => Math.floor(2 ** power));

describe.each(matmulCases())('matmulSeconds, $name', ({ seconds, peak }) => {
  test('is finite and never faster than the dense peak', () => {
    fc.assert(
      fc.property(side, side, side, (m, n, k) => {
        const time = seconds({ m, n, k });
        expect(Number.isFinite(time)).toBe(true);
        expect((2 * m * n * k) / time).toBeLessThanOrEqual(peak);
      }),
      { numRuns: 500 },
    );
  });

  test('never decreases when a dimension grows', () => {
    fc.assert(
      fc.property(side, side, side, fc.constantFrom('m', 'n', 'k'), side, (m, n, k, grown, more) => {
        const small = { m, n, k };
        const large = { ...small, [grown]: small[grown] + more };
        expect(seconds(small)).toBeLessThanOrEqual(seconds(large) * ROUNDING);
        // Quantisation steps show between neighbours, not between magnitudes.
        const next = { ...small, [grown]: small[grown] + 1 };
        expect(seconds(small)).toBeLessThanOrEqual(seconds(next) * ROUNDING);
      }),
      { numRuns: 1000 },
    );
  });

  test('takes at least twice the time for a hundred times the work at training sizes', () => {
    const small = seconds({ m: 1024, n: 1024, k: 1024 });
    expect(seconds({ m: 102_400, n: 1024, k: 1024 })).toBeGreaterThan(2 * small);
  });

  test('costs nothing when a dimension is empty', () => {
    expect(seconds({ m: 0, n: 4096, k: 4096 })).toBe(0);
  });
});

describe('matmul curves reproduce measured latencies', () => {
  // Shares of dense peak that the measured latencies of these shapes come to (the tables that docs/KERNELS.md names).
  test.each([
    ['a100-sxm', { m: 4096, n: 4096, k: 4096 }, 0.86],
    ['a100-sxm', { m: 8192, n: 8192, k: 8192 }, 0.84],
    ['h100-sxm', { m: 4096, n: 4096, k: 4096 }, 0.77],
    ['h100-sxm', { m: 8192, n: 8192, k: 8192 }, 0.74],
    ['h100-sxm', { m: 32_768, n: 8192, k: 8192 }, 0.71],
    ['a100-sxm', { m: 4096, n: 512, k: 4096 }, 0.61],
    ['h100-sxm', { m: 8192, n: 1024, k: 8192 }, 0.82],
  ])('%s %o runs at %f of peak, within 6 %%', (id, shape, efficiency) => {
    const { device, matmul } = curvesOf(id);
    const curve = matmul['bf16'];
    if (curve === undefined) throw new Error('no bf16 curve');
    const measured = (2 * shape.m * shape.n * shape.k) / (device.peakFlopsPerSecond * efficiency);
    expect(matmulSeconds(curve, device, shape) / measured).toBeGreaterThan(0.94);
    expect(matmulSeconds(curve, device, shape) / measured).toBeLessThan(1.06);
  });

  test('a cast is part of the fp8 time and absent from bf16', () => {
    const { device, matmul } = curvesOf('h100-sxm');
    const shape = { m: 8192, n: 1024, k: 8192 };
    const [bf16, fp8] = [matmul['bf16'], matmul['fp8']];
    if (bf16 === undefined || fp8 === undefined) throw new Error('no curve');
    expect(castSeconds(bf16, device, shape)).toBe(0);
    const rates = { ...device, peakFlopsPerSecond: 1978.9e12 };
    const withoutCast = matmulSeconds({ ...fp8, castBytesPerElement: 0 }, rates, shape);
    expect(withoutCast + castSeconds(fp8, rates, shape)).toBeCloseTo(matmulSeconds(fp8, rates, shape), 12);
    expect(castSeconds(fp8, rates, shape)).toBeGreaterThan(0);
  });
});

describe('matmulSeconds by hand', () => {
  const plain: MatmulCurve = {
    launchSeconds: 0,
    peakEfficiency: 1,
    depthOverheadElements: 0,
    memoryEfficiency: 1,
    overlapExponent: 8,
    sagFraction: 0,
    sagHalfFlops: 1e12,
    tileTrafficElements: 0,
    splitSeconds: 1,
    waveRoundingFraction: 1,
    cachedBytes: 0,
    castBytesPerElement: 0,
    operandBytesPerElement: 2,
    outputBytesPerElement: 2,
  };
  const compute = { peakFlopsPerSecond: 1e12, memoryBytesPerSecond: 1e18, numMultiprocessors: 1 };
  const memory = { peakFlopsPerSecond: 1e24, memoryBytesPerSecond: 1e9, numMultiprocessors: 1 };

  test.each([
    // One multiprocessor: the work is that of whole tiles of the best shape, here three of 64×128.
    [1, { m: 129, n: 128, k: 1024 }, 2 * 3 * 64 * 128 * 1024],
    // Whole tiles cost what they hold.
    [1, { m: 256, n: 256, k: 1024 }, 2 * 256 * 256 * 1024],
    // Five tiles of 64×64 on four multiprocessors: two waves of four.
    [4, { m: 320, n: 64, k: 1024 }, 2 * 2 * 4 * 64 * 64 * 1024],
    // Depth is rounded up to steps of 32.
    [1, { m: 64, n: 64, k: 33 }, 2 * 64 * 64 * 64],
  ])('%d multiprocessors, %o', (numMultiprocessors, shape, paddedFlops) => {
    const seconds = matmulSeconds(plain, { ...compute, numMultiprocessors }, shape);
    expect(seconds / (paddedFlops / 1e12)).toBeCloseTo(1, 6);
  });

  test('reads both operands and writes the result once', () => {
    const seconds = matmulSeconds(plain, memory, { m: 10, n: 20, k: 30 });
    expect(seconds / ((2 * (10 * 30 + 30 * 20 + 10 * 20)) / 1e9)).toBeCloseTo(1, 6);
  });

  test('splits the depth when idle multiprocessors outweigh the cost of adding up', () => {
    const shape = { m: 64, n: 64, k: 65_536 };
    const idle = { ...compute, numMultiprocessors: 8 };
    const split = matmulSeconds({ ...plain, splitSeconds: 1e-9 }, idle, shape);
    expect(matmulSeconds(plain, idle, shape) / split).toBeGreaterThan(4);
  });
});

test('matmulAlignmentFactor slows shapes whose weight sides are no multiples of 64', () => {
  expect(matmulAlignmentFactor({ m: 1000, n: 4096, k: 4096 })).toBe(1);
  expect(matmulAlignmentFactor({ m: 1024, n: 4096, k: 1376 })).toBeGreaterThan(1.7);
  expect(matmulAlignmentFactor({ m: 1024, n: 50_257, k: 4096 })).toBeGreaterThan(1.7);
});

const attentionShape = fc.record({
  batch: fc.integer({ min: 1, max: 64 }),
  seqLen: side,
  numHeads: fc.integer({ min: 1, max: 128 }),
  numKvHeads: fc.integer({ min: 1, max: 128 }),
  headDim: fc.constantFrom(32, 64, 80, 96, 128, 192, 256),
});

describe.each(accelerators.map(([id, curves]) => ({ id, curves })))('attentionSeconds, $id', ({ curves }) => {
  const { device, attention } = curves;
  const curve = attention['bf16'];
  const seconds = (shape: AttentionShape): number => {
    if (curve === undefined) throw new Error('no bf16 curve');
    return attentionSeconds(curve, device, shape);
  };

  test('is finite and never faster than the dense peak', () => {
    fc.assert(
      fc.property(attentionShape, (shape) => {
        const time = seconds(shape);
        expect(Number.isFinite(time)).toBe(true);
        expect(causalAttentionFlops(shape) / time).toBeLessThanOrEqual(device.peakFlopsPerSecond);
      }),
    );
  });

  test('never decreases when an argument grows', () => {
    const names = fc.constantFrom('batch', 'seqLen', 'numHeads', 'numKvHeads', 'headDim');
    fc.assert(
      fc.property(attentionShape, names, fc.integer({ min: 1, max: 4096 }), (shape, name, more) => {
        const large = { ...shape, [name]: shape[name] + more };
        expect(seconds(shape)).toBeLessThanOrEqual(seconds(large) * ROUNDING);
      }),
    );
  });

  test('grows about with the square of long sequences', () => {
    const shape = { batch: 1, seqLen: 65_536, numHeads: 16, numKvHeads: 8, headDim: 128 };
    const ratio = seconds({ ...shape, seqLen: 131_072 }) / seconds(shape);
    expect(ratio).toBeGreaterThan(3.7);
    expect(ratio).toBeLessThanOrEqual(4.2);
  });
});

test.each([
  // Rows of the attention tables (docs/KERNELS.md): share of dense peak at batch 1, 32 heads, 8 KV heads, head size 128.
  ['a100-sxm', 4096, 0.39],
  ['a100-sxm', 16_384, 0.46],
  ['h100-sxm', 4096, 0.41],
  ['h100-sxm', 16_384, 0.51],
])('attention on %s at %d tokens runs at %f of peak, within 8 %%', (id, seqLen, efficiency) => {
  const { device, attention } = curvesOf(id);
  const curve = attention['bf16'];
  if (curve === undefined) throw new Error('no bf16 curve');
  const shape = { batch: 1, seqLen, numHeads: 32, numKvHeads: 8, headDim: 128 };
  const measured = causalAttentionFlops(shape) / (device.peakFlopsPerSecond * efficiency);
  const ratio = attentionSeconds(curve, device, shape) / measured;
  expect(ratio).toBeGreaterThan(0.92);
  expect(ratio).toBeLessThan(1.08);
});

describe.each(accelerators.map(([id, curves]) => ({ id, curves })))('collectiveSeconds, $id', ({ curves }) => {
  const op = fc.constantFrom(...COLLECTIVE_OPS);
  const bytes = fc.double({ min: 0, max: 40, noNaN: true }).map((power) => Math.floor(2 ** power));
  const numRanks = fc.integer({ min: 2, max: 72 });

  const growth = fc.double({ min: 1, max: 4, noNaN: true });

  test('is finite and never decreases with the array', () => {
    fc.assert(
      fc.property(op, bytes, growth, numRanks, (name, size, factor, ranks) => {
        const small = collectiveSeconds(curves.collective, { op: name, bytes: size, numRanks: ranks });
        const large = collectiveSeconds(curves.collective, { op: name, bytes: size * factor, numRanks: ranks });
        expect(Number.isFinite(large)).toBe(true);
        expect(small).toBeLessThanOrEqual(large * ROUNDING);
      }),
      { numRuns: 1000 },
    );
  });

  test('stays below the fitted bus bandwidth', () => {
    fc.assert(
      fc.property(op, bytes, numRanks, (name, size, ranks) => {
        const seconds = collectiveSeconds(curves.collective, { op: name, bytes: size, numRanks: ranks });
        const limit = Math.max(...curves.collective[name].busBandwidths.map((point) => point.busBytesPerSecond));
        expect((busFactor(name, ranks) * size) / seconds).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('costs nothing for one rank or an empty array', () => {
    for (const name of COLLECTIVE_OPS) {
      expect(collectiveSeconds(curves.collective, { op: name, bytes: 1e9, numRanks: 1 })).toBe(0);
      expect(collectiveSeconds(curves.collective, { op: name, bytes: 0, numRanks: 8 })).toBe(0);
    }
  });

  test('gathers and scatters for about the price of one reduction', () => {
    const call = { bytes: 2 ** 29, numRanks: 4 };
    const of = (name: CollectiveOp): number => collectiveSeconds(curves.collective, { op: name, ...call });
    const ratio = of('allReduce') / (of('allGather') + of('reduceScatter'));
    expect(ratio).toBeGreaterThan(0.8);
    expect(ratio).toBeLessThan(1.2);
  });
});

test.each([
  // 268 M half elements over 8 GPUs (MODEL §5.2): 4.226 ms on A100, 2.111 ms with switch reduction on H100.
  ['a100-sxm', 'allReduce', 4.226e-3],
  ['h100-sxm', 'allReduce', 2.111e-3],
  ['h100-sxm', 'allGather', 1.401e-3],
  ['h100-sxm', 'allToAll', 1.481e-3],
] as const)('%s %s of 512 MiB over 8 ranks, within 5 %%', (id, op, measured) => {
  const seconds = collectiveSeconds(curvesOf(id).collective, { op, bytes: 2 ** 29, numRanks: 8 });
  expect(seconds / measured).toBeGreaterThan(0.95);
  expect(seconds / measured).toBeLessThan(1.05);
});

test.each([
  // MODEL §5.2, 8 GPUs: microseconds.
  ['a100-sxm', 'allReduce', 2 ** 24, 217],
  ['h100-sxm', 'allReduce', 2 ** 21, 38],
  ['h100-sxm', 'allReduce', 2 ** 24, 122],
  ['h100-sxm', 'allReduce', 2 ** 12, 16],
  ['h100-sxm', 'allGather', 2 ** 24, 69],
  ['b200-sxm', 'allReduce', 2 ** 27, 398],
  ['b200-sxm', 'allToAll', 2 ** 24, 50],
] as const)('%s %s of %d bytes over 8 ranks, within 20 %%', (id, op, bytes, measuredUs) => {
  const seconds = collectiveSeconds(curvesOf(id).collective, { op, bytes, numRanks: 8 });
  expect(seconds / (measuredUs * 1e-6)).toBeGreaterThan(0.8);
  expect(seconds / (measuredUs * 1e-6)).toBeLessThan(1.2);
});

test('bus bandwidths are read between the measured rank counts and kept beyond them', () => {
  const curve = {
    baseSeconds: 0,
    stepSeconds: 0,
    fillSeconds: 0,
    bulkStepSeconds: 0,
    bulkRankBytes: 1,
    busBandwidths: [
      { numRanks: 2, busBytesPerSecond: 100 },
      { numRanks: 8, busBytesPerSecond: 300 },
    ],
  };
  const curves = { allReduce: curve, allGather: curve, reduceScatter: curve, allToAll: curve };
  const busBandwidth = (numRanks: number): number =>
    (busFactor('allGather', numRanks) * 1e6) / collectiveSeconds(curves, { op: 'allGather', bytes: 1e6, numRanks });
  expect(busBandwidth(2)).toBeCloseTo(100, 6);
  expect(busBandwidth(4)).toBeCloseTo(200, 6);
  expect(busBandwidth(8)).toBeCloseTo(300, 6);
  expect(busBandwidth(16)).toBeCloseTo(300, 6);
});

test('the shipped fit meets its targets on the accelerators the first release plans for', () => {
  for (const id of ['a100-sxm', 'h100-sxm']) {
    const { matmul, attention } = curvesOf(id);
    for (const curve of [matmul['bf16'], attention['bf16']]) {
      expect(curve?.fit.heldOut.medianApe).toBeLessThan(0.06);
      expect(curve?.fit.heldOut.p95Ape).toBeLessThan(0.2);
    }
  }
});
