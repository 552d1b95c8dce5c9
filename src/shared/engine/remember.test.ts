import { expect, test, vi } from 'vitest';
import { forEach, forLast, forLastPair } from './remember.ts';

test('forLast answers the object asked about last without computing', () => {
  const compute = vi.fn(({ x }: { x: number }) => 2 * x);
  const twice = forLast(compute);
  const [a, b] = [{ x: 1 }, { x: 2 }];
  expect([twice(a), twice(a), twice(b), twice(b), twice(a)]).toEqual([2, 2, 4, 4, 2]);
  expect(compute).toHaveBeenCalledTimes(3);
});

test('forLastPair looks at both objects', () => {
  const compute = vi.fn((a: { x: number }, b: { x: number }) => a.x + b.x);
  const sum = forLastPair(compute);
  const [one, two] = [{ x: 1 }, { x: 2 }];
  expect([sum(one, two), sum(one, two), sum(two, two), sum(two, one)]).toEqual([3, 3, 4, 3]);
  expect(compute).toHaveBeenCalledTimes(3);
});

test('forEach computes once for each object, null answers too', () => {
  const compute = vi.fn<(key: object) => null>(() => null);
  const nothing = forEach(compute);
  const [a, b] = [{}, {}];
  expect([nothing(a), nothing(b), nothing(a), nothing(b)]).toEqual([null, null, null, null]);
  expect(compute).toHaveBeenCalledTimes(2);
});
