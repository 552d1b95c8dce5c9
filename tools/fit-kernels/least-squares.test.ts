import { expect, test } from 'vitest';
import { fitParameters, type Parameter } from './least-squares.ts';

const parameters: readonly Parameter[] = [
  { name: 'latency', start: 1, lower: 1e-3, upper: 1e3 },
  { name: 'rate', start: 10, lower: 1e-3, upper: 1e6 },
];
const sizes = Array.from({ length: 60 }, (_, i) => 2 ** (i / 4));

function fit(measured: readonly number[], weights = new Float64Array(sizes.length).fill(1)): number[] {
  return fitParameters({
    parameters,
    weights,
    residuals: ([latency = 0, rate = 1]) =>
      Float64Array.from(sizes, (size, i) => Math.log((latency + size / rate) / (measured[i] ?? 1))),
  });
}

test('recovers the parameters of rows without noise', () => {
  const [latency, rate] = fit(sizes.map((size) => 3 + size / 50));
  expect(latency).toBeCloseTo(3, 1);
  expect(rate).toBeCloseTo(50, 0);
});

test('is not bent by a few rows that are ten times off', () => {
  const [latency, rate] = fit(sizes.map((size, i) => (3 + size / 50) * (i % 15 === 0 ? 10 : 1)));
  expect(latency).toBeGreaterThan(2.7);
  expect(latency).toBeLessThan(3.3);
  expect(rate).toBeGreaterThan(45);
  expect(rate).toBeLessThan(55);
});

test('follows the rows with weight', () => {
  const measured = sizes.map((size) => (size < 100 ? 3 + size / 50 : (3 + size / 50) * 2));
  const weights = Float64Array.from(sizes, (size) => (size < 100 ? 1e-3 : 1));
  expect(fit(measured, weights)[1]).toBeLessThan(30);
});

test('stays within the bounds and keeps the start of a parameter that the rows leave open', () => {
  const values = fitParameters({
    parameters: [
      { name: 'bounded', start: 1, lower: 0.5, upper: 2 },
      { name: 'open', start: 7, lower: 1, upper: 100 },
    ],
    weights: new Float64Array([1, 1, 1]),
    residuals: ([bounded = 0]) => Float64Array.from([1, 1, 1], () => Math.log(bounded / 5)),
  });
  expect(values).toEqual([2, 7]);
});

test('gives the same values twice', () => {
  const measured = sizes.map((size, i) => (3 + size / 50) * (1 + 0.1 * Math.sin(i)));
  expect(fit(measured)).toEqual(fit(measured));
});
