import { expect, test } from 'vitest';
import { formatQuantity } from './quantities.ts';

test.each([
  [8192, '', '8,192'],
  [0.5, 'fraction', '50 %'],
  [989.4e12, 'FLOP/s', '989 TFLOP/s'],
  [3.35e12, 'B/s', '3,350 GB/s'],
  [1.0261, 'ratio', '× 1.026'],
  [2.5, 'x', '2.5 x'],
])('%d %s reads %s', (value, unit, text) => {
  expect(formatQuantity({ label: 'a', value, unit })).toBe(text);
});
