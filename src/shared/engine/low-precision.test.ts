/** Bytes of recipes in fewer than 16 bits, by hand. */
import { expect, test } from 'vitest';
import { lowPrecisionOf, savedInputBytes, weightCopyBytes } from './low-precision.ts';

test.each([
  ['bf16', 2, 0],
  ['fp16', 2, 0],
  ['fp8', 1, 2],
  ['fp4', 0.5625, 1.125],
] as const)('%s keeps %d bytes of an input and %d of a bf16 weight', (compute, saved, copies) => {
  expect(savedInputBytes(compute)).toBe(saved);
  expect(weightCopyBytes('bf16', compute)).toBe(copies);
});

test('an fp8 weight is its own cast copy', () => {
  expect(weightCopyBytes('fp8', 'fp8')).toBe(1);
  expect(weightCopyBytes('fp8', 'bf16')).toBe(0);
});

test('casting moves 4 bytes to fp8 and 7.125 to fp4', () => {
  expect(lowPrecisionOf('fp8')).toMatchObject({ castBytesPerElement: 4, castKernels: 1 });
  expect(lowPrecisionOf('fp4')).toMatchObject({ castBytesPerElement: 7.125, castKernels: 3 });
  expect(lowPrecisionOf('bf16')).toBeNull();
});
