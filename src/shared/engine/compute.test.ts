/** What training makes of kernels: a sustained load, casts of fp8 recipes, generations of flash attention. */
import { describe, expect, test } from 'vitest';
import {
  flashAttentionTime,
  inHalf,
  inputGradientTime,
  matmulTime,
  memoryTime,
  processorOf,
  weightGradientTime,
} from './compute.ts';
import { matmulSeconds } from './kernels/index.ts';
import { problemOf } from './testing/problems.ts';

const shape = { m: 8192, n: 8192, k: 8192 };

describe('a sustained load', () => {
  test.each(['a100-80gb-sxm', 'h100-80gb-sxm', 'b200-180gb-sxm'])(
    '%s: a short kernel sags as a long one',
    (accelerator) => {
      const { calibration, device } = problemOf({ accelerator });
      const processor = processorOf(problemOf({ accelerator }));
      const curve = calibration.kernels.accelerators[device.kernelCurves]!.matmul['bf16']!;
      const short = { m: 1024, n: 4096, k: 4096 };
      const benchmark = matmulSeconds(curve, processor.rates, short);
      const training = matmulSeconds(processor.matmul, processor.rates, short);
      expect(training).toBeGreaterThan(benchmark);
      expect(training).toBeLessThanOrEqual(benchmark * (1 + curve.sagFraction));
    },
  );
});

describe('fp8', () => {
  const problem = problemOf({ accelerator: 'h100-80gb-sxm', precision: { compute: 'fp8' } });
  const fp8 = processorOf(problem);

  test('a large matmul gains what the units give, less its cast', () => {
    const gain = matmulTime(inHalf(fp8), shape) / matmulTime(fp8, shape);
    expect(gain).toBeGreaterThan(1.4);
    expect(gain).toBeLessThan(2);
  });

  test('an input is cast once in forward and an output’s gradient once in backward', () => {
    const square = 8192 ** 2;
    const cast = memoryTime(fp8, 4 * square);
    const uncast = { ...fp8, castBytesPerElement: 0 };
    expect(matmulTime(fp8, shape) - matmulTime(uncast, shape)).toBeCloseTo(cast, 12);
    expect(inputGradientTime(fp8, shape) - inputGradientTime(uncast, shape)).toBeCloseTo(cast, 12);
    expect(weightGradientTime(fp8, shape)).toBe(weightGradientTime(uncast, shape));
  });

  test('bf16 casts nothing', () => {
    expect(processorOf(problemOf({ accelerator: 'h100-80gb-sxm' })).castBytesPerElement).toBe(0);
  });
});

describe('fp4', () => {
  const fp4 = processorOf(problemOf({ accelerator: 'gb200-nvl72', precision: { compute: 'fp4' } }));
  const fp8 = processorOf(problemOf({ accelerator: 'gb200-nvl72', precision: { compute: 'fp8' } }));

  test('a large matmul is faster than in fp8, and by less than its peak promises', () => {
    const gain = matmulTime(fp8, shape) / matmulTime(fp4, shape);
    expect(gain).toBeGreaterThan(1.1);
    expect(gain).toBeLessThan(2);
  });

  test('an input is read three times and written twice, with a scale per 16 elements', () => {
    const uncast = { ...fp4, castBytesPerElement: 0 };
    const cast = memoryTime(fp4, (6 + 2 * (0.5 + 1 / 16)) * 8192 ** 2, 3);
    expect(matmulTime(fp4, shape) - matmulTime(uncast, shape)).toBeCloseTo(cast, 12);
    expect(inputGradientTime(fp4, shape) - inputGradientTime(uncast, shape)).toBeCloseTo(cast, 12);
    expect(weightGradientTime(fp4, shape)).toBe(weightGradientTime(uncast, shape));
  });

  test('what stays in 16 bits is that of a bf16 run', () => {
    const bf16 = processorOf(problemOf({ accelerator: 'gb200-nvl72' }));
    const { matmul, rates, castBytesPerElement } = inHalf(fp4);
    expect({ matmul, rates, castBytesPerElement }).toEqual({
      matmul: bf16.matmul,
      rates: bf16.rates,
      castBytesPerElement: 0,
    });
  });

  test('a part without fp4 kernels of its own runs a similar one’s at its own peak', () => {
    const mi355x = processorOf(problemOf({ accelerator: 'mi355x', precision: { compute: 'fp4' } }));
    expect(mi355x.rates.peakFlopsPerSecond).toBe(10_066e12);
    expect(mi355x.matmul.operandBytesPerElement).toBe(0.5625);
  });
});

test.each([
  ['h100-80gb-sxm', 0.75 / 0.35],
  ['a100-80gb-sxm', 1],
])('flash attention of the second generation on %s takes %d of the time', (accelerator, ratio) => {
  const processor = processorOf(problemOf({ accelerator }));
  const attention = { batch: 1, seqLen: 8192, numHeads: 32, numKvHeads: 8, headDim: 128 };
  const [newest, second] = [
    flashAttentionTime(processor, attention),
    flashAttentionTime(processor, attention, 'flash-2'),
  ];
  expect(second.forward / newest.forward).toBeCloseTo(ratio, 12);
  expect(second.backward / newest.backward).toBeCloseTo(ratio, 12);
});
