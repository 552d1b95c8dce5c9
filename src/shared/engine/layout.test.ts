import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  balancedLayout,
  layersPerVirtualStage,
  layoutFor,
  recipeLayout,
  spreadLayout,
  virtualStagesOf,
} from './layout.ts';

describe('layersPerVirtualStage', () => {
  test.each<[string, number[] | null]>([
    ['EtL', [1]],
    ['Et|tL', [1, 1]],
    ['E|t|L', [0, 1, 0]],
    ['Et*3|t*2L', [3, 2]],
    ['Et|(tt|)*3tL', [1, 2, 2, 2, 1]],
    ['Et*2|(tt|)*5tL', [2, 2, 2, 2, 2, 2, 1]],
    ['E|(t|)*4L', [0, 1, 1, 1, 1, 0]],
    ['E t | t t L', [1, 2]],
    ['E((t|)*2|)*2tL', [1, 1, 0, 1, 1, 0, 1]],
    // Megatron's own example counts an MTP layer, which a plain decoder has not
    ['Et*2|(tt|)*5t|tmL', [2, 2, 2, 2, 2, 2, 1, 1]],
    ['tt|tL', null], // no embedding
    ['Et|tt', null], // no head
    ['tE|tL', null], // embedding not first
    ['EtL|t', null], // head not last
    ['Et|xL', null],
    ['E(t|tL', null],
    ['Et)*2|L', null],
    ['Et*|L', null],
    ['E(t*4000)*4000L', null], // grows beyond reason
    ['Et*999999999999L', null],
    [`E${'t'.repeat(5000)}L`, null],
    ['', null],
  ])('%s', (layout, stages) => {
    expect(layersPerVirtualStage(layout)).toEqual(stages);
  });
});

describe('balancedLayout', () => {
  test('holds all layers, one fewer on both ends', () => {
    const size = fc.integer({ min: 1, max: 32 });
    fc.assert(
      fc.property(size, fc.integer({ min: 1, max: 8 }), size, (pp, vpp, perStage) => {
        const numLayers = pp * vpp * perStage - 2;
        fc.pre(numLayers > 0);
        const layout = balancedLayout(numLayers, pp, vpp);
        fc.pre(pp * vpp > 1);
        const stages = layersPerVirtualStage(layout!);
        expect(stages).toHaveLength(pp * vpp);
        expect(stages!.reduce((sum, layers) => sum + layers, 0)).toBe(numLayers);
        expect(stages!.slice(1, -1).every((layers) => layers === perStage)).toBe(true);
        expect([stages![0], stages!.at(-1)]).toEqual([perStage - 1, perStage - 1]);
      }),
    );
  });

  test.each([
    [126, 16, 1, 'Et*7|(t*8|)*14t*7L'],
    [126, 16, 8, 'E|(t|)*126L'],
    [6, 4, 1, 'Et|(t*2|)*2tL'],
    [2, 2, 1, 'Et|tL'],
    [8, 4, 1, null],
    [3, 1, 1, null],
  ])('of %d layers over pp %d, vpp %d', (numLayers, pp, vpp, layout) => {
    expect(balancedLayout(numLayers, pp, vpp)).toBe(layout);
  });
});

test.each([
  [8, 4, 1, null],
  [8, 4, 2, null],
  [6, 4, 1, 'Et|(t*2|)*2tL'],
  [7, 4, 1, undefined],
  [80, 16, 2, undefined],
])('layoutFor(%d, %d, %d): even, else balanced, else none', (numLayers, pp, vpp, layout) => {
  expect(layoutFor(numLayers, pp, vpp)).toBe(layout);
});

describe('layouts that frameworks deal out', () => {
  const counts = (layout: string | null) => (layout === null ? null : layersPerVirtualStage(layout));

  test.each([
    // torchtitan and DeepSpeed: ends as layers where that comes out even, else the longer stages first
    [126, 8, [15, 16, 16, 16, 16, 16, 16, 15]],
    [44, 6, [8, 8, 7, 7, 7, 7]],
    [80, 8, null],
    [4, 8, null],
  ])('spread: %i layers over %i stages', (layers, stages, expected) => {
    expect(counts(spreadLayout(layers, stages))).toEqual(expected);
  });

  test.each([
    // Megatron-Bridge's recipe of DeepSeek-V3: 61 layers and a prediction layer over 16 stages
    [61, 1, 16, [...new Array<number>(15).fill(4), 1]],
    [61, 1, 32, [...new Array<number>(30).fill(2), 1, 0]],
    [94, 0, 48, [1, ...new Array<number>(46).fill(2), 1]],
    [64, 1, 8, null],
  ])('recipe: %i layers and %i of prediction over %i stages', (layers, mtp, stages, expected) => {
    const layout = recipeLayout(layers, mtp, stages);
    expect(counts(layout)).toEqual(expected);
    if (layout !== null) expect(virtualStagesOf(layout)?.at(-1)?.mtpLayers).toBe(mtp);
  });
});
