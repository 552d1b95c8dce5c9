import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completePlan, evaluatePlan } from '../index.ts';
import { problemOf } from '../testing/problems.ts';
import { groupAcross, groupOf, groupsOf, parseRankOrder, ranksWithin, splitGroup, type PlanGroups } from './index.ts';

const power = (max: number) => fc.integer({ min: 0, max }).map((exponent) => 2 ** exponent);
/** Degrees of both meshes of the same ranks: etp·ep divides tp·cp·dp. */
const degrees = fc
  .record({ tp: power(3), cp: power(2), dp: power(3), pp: power(2), etp: power(2), ep: power(4) })
  .filter(({ tp, cp, dp, etp, ep }) => (tp * cp * dp) % (etp * ep) === 0);
const rankOrder = fc
  .shuffledSubarray(['tp', 'cp', 'ep', 'dp', 'pp'], { minLength: 5, maxLength: 5 })
  .map((order) => order.join('-'));

type Degrees = typeof degrees extends fc.Arbitrary<infer T> ? T : never;

function problemFor({ tp, cp, dp, pp }: Pick<Degrees, 'tp' | 'cp' | 'dp' | 'pp'>, domainSize = 8) {
  return problemOf({ numAccelerators: tp * cp * dp * pp, scaleUp: { domainSize } });
}
function groupsFor(split: Partial<Degrees>, order: string, domainSize = 8): PlanGroups {
  const full = { ...{ tp: 1, cp: 1, dp: 1, pp: 1, etp: 1, ep: 1 }, ...split };
  const problem = problemFor(full, domainSize);
  return groupsOf(problem, completePlan(problem, { ...full, rankOrder: order }));
}

/** Global ranks of the group that holds rank 0, by counting through the dimensions. */
function ranksOf({ dimensions }: PlanGroups['tp']): number[] {
  return dimensions.reduce(
    (ranks, { size, stride }) => ranks.flatMap((rank) => Array.from({ length: size }, (_, i) => rank + i * stride)),
    [0],
  );
}

/** The same group found the long way: coordinates of every rank, in the order's mixed base. */
function counted(order: readonly string[], sizes: Record<string, number>, free: readonly string[]): number[] {
  const total = order.reduce((product, name) => product * (sizes[name] ?? 1), 1);
  return Array.from({ length: total }, (_, rank) => rank).filter((rank) => {
    let rest = rank;
    return order.every((name) => {
      const coordinate = rest % (sizes[name] ?? 1);
      rest = Math.floor(rest / (sizes[name] ?? 1));
      return coordinate === 0 || free.includes(name);
    });
  });
}

describe('groupsOf', () => {
  test('agrees with counting the ranks, in every order', () => {
    fc.assert(
      fc.property(degrees, rankOrder, (split, order) => {
        const groups = groupsFor(split, order);
        const names = order.split('-');
        const { tp, cp, dp, pp, etp, ep } = split;
        const dense = { tp, cp, dp, pp, ep: 1 };
        const expert = { tp: etp, ep, dp: (tp * cp * dp) / (etp * ep), pp, cp: 1 };
        const sorted = (group: PlanGroups['tp']) => ranksOf(group).sort((a, b) => a - b);
        expect(sorted(groups.tp)).toEqual(counted(names, dense, ['tp']));
        expect(sorted(groups.cp)).toEqual(counted(names, dense, ['cp']));
        expect(sorted(groups.dp)).toEqual(counted(names, dense, ['dp']));
        expect(sorted(groups.pp)).toEqual(counted(names, dense, ['pp']));
        expect(sorted(groups.dpCp)).toEqual(counted(names, dense, ['dp', 'cp']));
        expect(sorted(groups.ep)).toEqual(counted(names, expert, ['ep']));
        expect(sorted(groups.etpEp)).toEqual(counted(names, expert, ['tp', 'ep']));
        expect(sorted(groups.edp)).toEqual(counted(names, expert, ['dp']));
      }),
      { numRuns: 300 },
    );
  });

  test('counts domain neighbours as they lie, where degrees are powers of two', () => {
    fc.assert(
      fc.property(degrees, rankOrder, power(6), (split, order, domain) => {
        const groups = groupsFor(split, order, domain);
        const size = Math.min(domain, split.tp * split.cp * split.dp * split.pp);
        for (const group of [groups.tp, groups.cp, groups.dp, groups.dpCp, groups.ep, groups.etpEp, groups.edp]) {
          const inside = ranksOf(group).filter((rank) => rank < size).length;
          expect(group.ranksPerDomain).toBe(inside);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('the default order: tp fastest, then cp, dp, pp', () => {
    const groups = groupsFor({ tp: 2, cp: 2, dp: 8, pp: 2, ep: 4 }, 'tp-cp-ep-dp-pp');
    expect(groups.cp).toMatchObject({ dimensions: [{ size: 2, stride: 2 }], ranksPerDomain: 2 });
    expect(groups.dp).toMatchObject({ dimensions: [{ size: 8, stride: 4 }], ranksPerDomain: 2 });
    expect(groups.dpCp).toMatchObject({ size: 16, dimensions: [{ size: 16, stride: 2 }], ranksPerDomain: 4 });
    expect(groups.ep).toMatchObject({ dimensions: [{ size: 4, stride: 1 }], ranksPerDomain: 4 });
    expect(groups.embedding).toMatchObject({ size: 2, dimensions: [{ size: 2, stride: 32 }], ranksPerDomain: 1 });
  });

  test('pp before dp keeps a pipeline together (Llama 3: tp, cp, pp, dp)', () => {
    const groups = groupsFor({ tp: 2, dp: 8, pp: 4 }, 'tp-cp-ep-pp-dp');
    expect(groups.pp.ranksPerDomain).toBe(4);
    expect(groups.embedding.ranksPerDomain).toBe(2);
    expect(groups.dp.ranksPerDomain).toBe(1);
    expect(groupsFor({ tp: 2, dp: 8, pp: 4 }, 'tp-cp-ep-dp-pp').pp.ranksPerDomain).toBe(1);
  });

  test('experts may fold over more ranks than dp: ep = 16 of tp 4 · cp 2 · dp 2', () => {
    const groups = groupsFor({ tp: 4, cp: 2, dp: 2, ep: 16 }, 'tp-cp-ep-dp-pp');
    expect(groups.ep).toMatchObject({ size: 16, ranksPerDomain: 8 });
    expect(groups.edp.size).toBe(1);
  });

  test('does not confuse plans of one problem', () => {
    const problem = problemFor({ tp: 2, cp: 1, dp: 8, pp: 4 });
    const of = (order: string, ep = 1) =>
      groupsOf(problem, completePlan(problem, { tp: 2, pp: 4, ep, rankOrder: order }));
    const first = of('tp-cp-ep-dp-pp');
    expect(of('tp-cp-ep-dp-pp')).toBe(first);
    expect(of('tp-cp-ep-pp-dp').dp).not.toEqual(first.dp);
    expect(of('tp-cp-ep-dp-pp', 4).ep.size).toBe(4);
    expect(of('tp-cp-ep-dp-pp')).toEqual(first);
  });

  test('no order is refused', () => {
    expect(parseRankOrder('tp-pp-tp')).toBeNull();
    expect(parseRankOrder('tp-xx')).toBeNull();
    expect(parseRankOrder('tp-pp')).toEqual(['tp', 'pp', 'cp', 'ep', 'dp']);
    expect(() => groupsFor({ tp: 2 }, 'tp-xx')).toThrow(/no rank order/);
  });
});

describe('ranksWithin', () => {
  test.each([
    [3072, 128, 8, 128], // a stage of Llama 3 lies inside its pod
    [3072, 16, 1024, 3],
    [16, 2048, 8, 2],
  ])('a block of %d holds of %d ranks %d apart: %d', (block, size, stride, inside) => {
    expect(ranksWithin(block, groupOf(8, size, stride))).toBe(inside);
  });
});

describe('splitGroup', () => {
  test('the innermost ranks shard, the others hold copies', () => {
    const { shard, replica } = splitGroup(8, groupOf(8, 32, 2), 4);
    expect(shard).toMatchObject({ size: 4, dimensions: [{ size: 4, stride: 2 }], ranksPerDomain: 4 });
    expect(replica).toMatchObject({ size: 8, dimensions: [{ size: 8, stride: 8 }], ranksPerDomain: 1 });
  });
  test('over two dimensions that are apart', () => {
    const both = groupAcross(8, [
      { size: 2, stride: 1 },
      { size: 4, stride: 8 },
    ]);
    const { shard, replica } = splitGroup(8, both, 4);
    expect(shard.dimensions).toEqual([
      { size: 2, stride: 1 },
      { size: 2, stride: 8 },
    ]);
    expect(replica.dimensions).toEqual([{ size: 2, stride: 16 }]);
  });
});

test('cards without links or NICs run a pipeline and data parallelism over PCIe', () => {
  const problem = problemOf({ accelerator: 'rtx-4090', numAccelerators: 8 });
  const plan = completePlan(problem, { pp: 2, microBatchSize: 1 });
  const { estimate } = evaluatePlan(problem, plan);
  expect(estimate?.stepSeconds).toBeGreaterThan(0);
  expect(Number.isFinite(estimate?.stepSeconds)).toBe(true);
});
