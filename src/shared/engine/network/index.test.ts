import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CollectiveOp } from '../kernels/index.ts';
import { problemOf } from '../testing/problems.ts';
import { groupOf, groupSeconds, linksOf, placementOf, sendSeconds } from './index.ts';

const cluster = (id: string) => linksOf(problemOf({ accelerator: id, numAccelerators: 1024 }));
const a100 = cluster('a100-80gb-sxm');
const links = fc.constantFrom(a100, cluster('h100-80gb-sxm'));
const op = fc.constantFrom<CollectiveOp>('allReduce', 'allGather', 'reduceScatter', 'allToAll');
const bytes = fc.double({ min: 0, max: 36, noNaN: true }).map((power) => 2 ** power);
const power = (max: number) => fc.integer({ min: 0, max }).map((exponent) => 2 ** exponent);
const group = fc.record({ size: power(10), stride: power(6) }).map(({ size, stride }) => groupOf(8, size, stride));

describe('groupSeconds', () => {
  test('is 0 for one rank and for no bytes', () => {
    fc.assert(
      fc.property(links, op, bytes, power(6), (wires, name, size, stride) => {
        expect(groupSeconds(wires, name, groupOf(8, 1, stride), size)).toBe(0);
        expect(groupSeconds(wires, name, groupOf(8, 16, stride), 0)).toBe(0);
      }),
    );
  });

  test('never falls as the array grows', () => {
    fc.assert(
      fc.property(links, op, group, bytes, bytes, (wires, name, ranks, size, more) => {
        const [small, large] = [size, size + more].map((total) => groupSeconds(wires, name, ranks, total));
        expect(small).toBeLessThanOrEqual(large! * (1 + 1e-9));
      }),
    );
  });

  test('takes longer over NICs than inside a domain', () => {
    fc.assert(
      fc.property(op, bytes, (name, size) => {
        const inside = groupSeconds(a100, name, groupOf(8, 8, 1), size);
        expect(groupSeconds(a100, name, groupOf(8, 8, 8), size)).toBeGreaterThan(inside);
      }),
    );
  });

  test('reduces to all for about the price of scatter and gather across many domains', () => {
    const ranks = groupOf(8, 64, 8);
    const of = (name: CollectiveOp) => groupSeconds(a100, name, ranks, 2 ** 32);
    expect(of('allReduce') / (of('allGather') + of('reduceScatter'))).toBeCloseTo(1, 1);
  });
});

describe('groupOf', () => {
  test.each([
    [8, 8, 1, 8, 'scale-up'],
    [8, 16, 1, 8, 'scale-out'],
    [8, 4, 2, 4, 'scale-up'],
    [8, 8, 2, 4, 'scale-out'],
    [8, 16, 8, 1, 'scale-out'],
    [8, 2, 64, 1, 'scale-out'],
    [8, 1, 64, 1, 'scale-up'],
    [72, 36, 1, 36, 'scale-up'],
    [72, 64, 1, 8, 'scale-out'], // the second 64 ranks have 8 in the first domain
    [8, 6, 1, 2, 'scale-out'],
  ])('of a domain of %d: %d ranks %d apart keep %d together, over %s', (domain, size, stride, perDomain, placement) => {
    const ranks = groupOf(domain, size, stride);
    expect(ranks).toMatchObject({ size, ranksPerDomain: perDomain });
    expect(placementOf(ranks)).toBe(placement);
  });
});

describe('groups of a whole cluster', () => {
  test('two ranks far apart are together where one domain holds all', () => {
    expect(groupOf(8, 2, 6, 8)).toMatchObject({ size: 2, ranksPerDomain: 2 });
    expect(groupOf(8, 2, 12, 16)).toMatchObject({ size: 2, ranksPerDomain: 1 });
  });

  test.each([
    [8, 8, 'scale-up'],
    [16, 8, 'scale-out'], // a boundary between two nodes, although stages of 4 would fit into one
    [64, 72, 'scale-up'],
  ])('a pipeline over %d accelerators in domains of %d sends over %s', (accelerators, domain, placement) => {
    const stride = accelerators / 4;
    expect(placementOf(groupOf(Math.min(accelerators, domain), 4, stride))).toBe(placement);
  });
});

describe('sendSeconds', () => {
  test('never falls as the message grows, and is faster inside a domain', () => {
    fc.assert(
      fc.property(links, bytes, bytes, fc.constantFrom('scale-up', 'scale-out'), (wires, size, more, placement) => {
        expect(sendSeconds(wires, size, placement)).toBeLessThan(sendSeconds(wires, size + more, placement));
      }),
    );
    expect(sendSeconds(a100, 2 ** 24, 'scale-up')).toBeLessThan(sendSeconds(a100, 2 ** 24, 'scale-out'));
  });
});

test('bandwidth of all NICs, less oversubscription, reaches the links', () => {
  const scaleOut = (choices: object) => linksOf(problemOf({ scaleOut: choices })).scaleOutBytesPerSecond;
  const base = scaleOut({ nicsPerAccelerator: 1, bandwidthGbps: 200 });
  expect(scaleOut({ nicsPerAccelerator: 2, bandwidthGbps: 200 })).toBeCloseTo(2 * base, 0);
  expect(scaleOut({ nicsPerAccelerator: 1, bandwidthGbps: 200, oversubscription: 4 })).toBeCloseTo(base / 4, 0);
});
