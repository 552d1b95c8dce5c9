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
