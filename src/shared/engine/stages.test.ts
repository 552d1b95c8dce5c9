import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Plan } from '../schema/index.ts';
import { balancedLayout, layersPerVirtualStage } from './layout.ts';
import { rankOfStage, ranksOf } from './stages.ts';
import { smallModel } from './testing/problems.ts';

type Layout = Plan['layout'];
const of = (numLayers: number, pp: number, vpp: number, layout: Layout, schedule: Plan['schedule']['name'] = '1f1b') =>
  ranksOf({ ...smallModel, numLayers }, { pp, vpp, layout, schedule: { name: schedule, groupSize: null } });

describe('ranksOf', () => {
  test('agrees with the layers of the ranks’ virtual stages', () => {
    const size = fc.integer({ min: 2, max: 12 });
    fc.assert(
      fc.property(size, fc.integer({ min: 1, max: 4 }), size, (pp, vpp, perStage) => {
        const numLayers = pp * vpp * perStage - 2;
        const layout = balancedLayout(numLayers, pp, vpp);
        const stages = layersPerVirtualStage(layout!)!;
        const layersOf = (rank: number) =>
          stages.filter((_, stage) => stage % pp === rank).reduce((sum, layers) => sum + layers, 0);
        const ranks = of(numLayers, pp, vpp, layout)!;
        expect(ranks.map(({ layers }) => layers)).toEqual(ranks.map((_, rank) => layersOf(rank)));
        expect(ranks.map(({ hasEmbedding }) => hasEmbedding)).toEqual(ranks.map((_, rank) => rank === 0));
        expect(ranks.map(({ hasHead }) => hasHead)).toEqual(ranks.map((_, rank) => rank === pp - 1));
      }),
    );
  });

  test.each<[string, number, number, number, Layout, number[] | null]>([
    ['even', 8, 4, 1, null, [2, 2, 2, 2]],
    ['not even', 7, 4, 1, null, null],
    ['one rank', 3, 1, 1, 'Et*3L', [3]],
    ['balanced', 6, 4, 1, 'Et|(t*2|)*2tL', [1, 2, 2, 1]],
    ['chunked', 6, 2, 2, 'Et|(t*2|)*2tL', [3, 3]],
    ['too few stages', 6, 4, 1, 'Et*3|t*3L', null],
    ['too few layers', 8, 4, 1, 'Et|(t*2|)*2tL', null],
    ['middle ranks that differ', 6, 4, 1, 'Et|t*3|t|tL', [1, 3, 1, 1]],
    [
      'a list',
      3,
      2,
      1,
      [
        ['embedding', 'decoder'],
        ['decoder', 'decoder', 'loss'],
      ],
      [1, 2],
    ],
    ['a list of something else', 1, 1, 1, [['embedding', 'decode', 'loss']], null],
  ])('%s', (_, numLayers, pp, vpp, layout, expected) => {
    expect(of(numLayers, pp, vpp, layout)?.map(({ layers }) => layers) ?? null).toEqual(expected);
  });

  test('counts the layers of each kind where they stand', () => {
    const moe = {
      numExperts: 4,
      expertsPerToken: 2,
      expertFfnHiddenSize: 512,
      sharedExpertFfnHiddenSize: 0,
      sharedExpertGate: false,
      denseFirst: 3,
      everyN: 1,
      router: null,
    };
    const ranks = ranksOf(
      { ...smallModel, moe },
      { pp: 4, vpp: 1, layout: null, schedule: { name: '1f1b', groupSize: null } },
    );
    expect(ranks?.map(({ counts }) => counts)).toEqual([
      [2, 0],
      [1, 1],
      [0, 2],
      [0, 2],
    ]);
  });

  test('a V-shaped schedule brings its second chunk back up: both ends lie on the first rank', () => {
    const ranks = of(8, 4, 2, null, 'zb-v')!;
    expect(ranks[0]).toMatchObject({ layers: 2, hasEmbedding: true, hasHead: true });
    expect(ranks[3]).toMatchObject({ hasEmbedding: false, hasHead: false });
    const plan = { pp: 4, vpp: 2, layout: null, schedule: { name: 'zb-v' as const, groupSize: null } };
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((stage) => rankOfStage(stage, plan))).toEqual([0, 1, 2, 3, 3, 2, 1, 0]);
  });
});
