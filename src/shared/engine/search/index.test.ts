import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { searchResultSchema, type Plan, type PlanSummary } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import {
  completePlan,
  countPlans,
  evaluatePlan,
  mergeSlices,
  planKey,
  searchSlice,
  type Problem,
  type SliceResult,
} from '../index.ts';
import { balancedLayout } from '../layout.ts';
import { violationsOf } from '../rules/index.ts';
import { choicesArbitrary } from '../testing/arbitraries.ts';
import { exampleProblem, problemOf, type Choices } from '../testing/problems.ts';

const TOP = 5;
const timing = { seconds: 0, workers: 1 };

function slicesOf(problem: Problem, total: number, top = TOP): SliceResult[] {
  return Array.from({ length: total }, (_, index) => searchSlice(problem, { index, total, top }));
}

const searched = (problem: Problem, top = TOP) => mergeSlices(problem, slicesOf(problem, 1, top), top, timing);

interface Row {
  key: string;
  stepSeconds: number;
  peakMemoryBytes: number;
}
const rowOf = ({ key, stepSeconds, peakMemoryBytes }: Row): Row => ({ key, stepSeconds, peakMemoryBytes });

/** Expert meshes: any ep that divides the experts, experts whole or split as the rest of the layer. */
function meshes(experts: number, tp: number): { ep: number; etp: number }[] {
  const etps = experts === 1 || tp === 1 ? [1] : [1, tp];
  return divisorsOf(experts).flatMap((ep) => etps.map((etp) => ({ ep, etp })));
}

/**
 * Every plan of the space by plain nested loops and `evaluatePlan`, without anything of search/: the layout is even
 * where the layers divide, else balanced where embedding and head make up the difference.
 */
function enumerateNaively(problem: Problem): Row[] {
  const { model, network } = problem;
  const rows: Row[] = [];
  const consider = (plan: Plan): void => {
    if (violationsOf(problem, plan).length > 0) return; // evaluatePlan would look for the nearest valid plan as well
    const { estimate, verdict } = evaluatePlan(problem, plan);
    if (estimate !== null && verdict === 'fits') rows.push(rowOf({ key: planKey(plan), ...estimate }));
  };
  const n = network.numAccelerators;
  const experts = model.moe?.numExperts ?? 1;
  for (const tp of divisorsOf(n).filter((degree) => degree <= network.scaleUpDomainSize))
    for (const cp of divisorsOf(n / tp).filter((degree) => degree === 1 || problem.workload.seqLen / degree >= 4096))
      for (const { ep, etp } of meshes(experts, tp))
        for (const pp of divisorsOf(n / (tp * cp)))
          for (let vpp = 1; vpp <= model.numLayers + 2; vpp++)
            for (let microBatchSize = 1; microBatchSize <= 16; microBatchSize++)
              for (const mode of ['none', 'selective', 'full'] as const)
                for (const zeroStage of [0, 1] as const)
                  for (const sequenceParallel of [false, true]) {
                    const isEven = model.numLayers % (pp * vpp) === 0;
                    const layout = isEven ? null : balancedLayout(model.numLayers, pp, vpp);
                    if (!isEven && layout === null) continue;
                    const inner = { sequenceParallel, recompute: { mode }, sharding: { zeroStage } };
                    consider(completePlan(problem, { tp, cp, ep, etp, pp, vpp, microBatchSize, layout, ...inner }));
                  }
  return rows;
}

const byTime = (a: Row, b: Row) =>
  a.stepSeconds - b.stepSeconds || a.peakMemoryBytes - b.peakMemoryBytes || (a.key < b.key ? -1 : 1);
const byMemory = (a: Row, b: Row) =>
  a.peakMemoryBytes - b.peakMemoryBytes || a.stepSeconds - b.stepSeconds || (a.key < b.key ? -1 : 1);

/** Rows that no other beats in time and memory both. */
function frontierOf(rows: Row[]): Row[] {
  const isDominated = (row: Row) =>
    rows.some(
      (other) =>
        other.stepSeconds <= row.stepSeconds &&
        other.peakMemoryBytes <= row.peakMemoryBytes &&
        (other.stepSeconds < row.stepSeconds || other.peakMemoryBytes < row.peakMemoryBytes || other.key < row.key),
    );
  return rows.filter((row) => !isDominated(row)).sort(byTime);
}

/** Problems whose memory limit cuts through their plans, so that feasibility matters. */
const problems = fc
  .record({ choices: choicesArbitrary, memoryGiB: fc.constantFrom(2, 4, 8, 80) })
  .filter(({ choices }) => (choices.numAccelerators ?? 0) <= 16 && (choices.model?.numLayers ?? 0) <= 8)
  .map(({ choices, memoryGiB }) => {
    const problem = problemOf(choices);
    return { ...problem, device: { ...problem.device, usableMemoryBytes: memoryGiB * 2 ** 30 } };
  });

describe('the search is the brute force', () => {
  test('same best, same frontier, same number of feasible plans', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const rows = enumerateNaively(problem);
        const { best, frontier, stats } = searched(problem);
        expect(stats.feasible).toBe(rows.length);
        const order = problem.objective === 'memory-headroom' ? byMemory : byTime;
        expect(best.map(rowOf)).toEqual(rows.toSorted(order).slice(0, TOP));
        expect(frontier.map(rowOf)).toEqual(frontierOf(rows));
      }),
      { numRuns: 15 },
    );
  });

  test('every plan that it lists is what evaluatePlan says of it', () => {
    const problem = problemOf({ numAccelerators: 16, model: { numLayers: 6 } });
    const { best, frontier, heatMap } = searched(problem, 50);
    const cells = heatMap.flatMap((cell) => (cell.best === null ? [] : [cell.best]));
    for (const summary of [...best, ...frontier, ...cells]) {
      const { estimate, verdict } = evaluatePlan(problem, summary.plan);
      expect(verdict).toBe(summary.verdict);
      for (const key of ['stepSeconds', 'peakMemoryBytes', 'mfu', 'hfu', 'days', 'cost', 'bubbleFraction'] as const)
        expect(summary[key]).toBe(estimate?.[key]);
    }
  });
});

describe('the result does not depend on', () => {
  const problem = problemOf({
    numAccelerators: 16,
    model: { numLayers: 6 },
    plan: { tp: 2, pp: 2, microBatchSize: 2, recompute: { mode: 'full' } },
  });
  const whole = searched(problem);

  test.each([1, 2, 3, 7, 40])('the number of slices: %d', (total) => {
    expect(mergeSlices(problem, slicesOf(problem, total), TOP, timing)).toEqual(whole);
  });

  test('the order of merging, down to the order of keys', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 }), (order) => {
        const slices = slicesOf(problem, 7);
        const merged = mergeSlices(
          problem,
          order.map((index) => slices[index]!),
          TOP,
          timing,
        );
        expect(JSON.stringify(merged)).toBe(JSON.stringify(whole));
      }),
      { numRuns: 5 },
    );
  });

  test('merging itself: slices are not changed by it', () => {
    const slices = slicesOf(problem, 3);
    const before = structuredClone(slices);
    mergeSlices(problem, slices, TOP, timing);
    expect(slices).toEqual(before);
  });

  test('how many best are asked for', () => {
    const keys = (plans: readonly PlanSummary[]) => plans.map((plan) => plan.key);
    const more = searched(problem, 40);
    expect(keys(more.best).slice(0, TOP)).toEqual(keys(whole.best));
    expect(keys(more.frontier)).toEqual(keys(whole.frontier));
  });
});

describe('counts', () => {
  test('every plan is covered once: pruned with a reason, or feasible', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const { stats } = searched(problem);
        const pruned = Object.values(stats.prunedByReason).reduce((sum, count) => sum + count, 0);
        expect(stats.enumerated).toBe(countPlans(problem));
        expect(stats.enumerated).toBe(pruned + stats.feasible);
        expect(stats.evaluated).toBe(stats.feasible + (stats.prunedByReason['min-mfu'] ?? 0));
      }),
      { numRuns: 20 },
    );
  });

  test('the heat map holds the best and the least memory of each tp × pp', () => {
    const problem = problemOf({ numAccelerators: 8, model: { numLayers: 4 } });
    const rows = enumerateNaively(problem);
    const { heatMap } = searched(problem);
    expect(heatMap.length).toBeGreaterThan(5);
    for (const { tp, pp, best } of heatMap) {
      const own = rows.filter(({ key }) => key.startsWith(`tp${tp}.pp${pp}.`)).sort(byTime);
      expect(best?.key).toBe(own[0]?.key);
    }
  });

  test('the result is what the contract says', () => {
    const result = searched(problemOf());
    expect(searchResultSchema.parse(result)).toEqual(result);
    expect(result.engineVersion).not.toBe('');
  });
});

describe('the reference plan', () => {
  const plan = { tp: 4, pp: 2, microBatchSize: 1, recompute: { mode: 'full' as const } };

  test('is ranked among the feasible: one more than there are faster ones', () => {
    const problem = problemOf({ plan });
    const { reference } = searched(problem);
    const mine = evaluatePlan(problem, plan).estimate!.stepSeconds;
    const faster = enumerateNaively(problem).filter((row) => row.stepSeconds < mine);
    expect(faster.length).toBeGreaterThan(0);
    expect(reference).toMatchObject({ rank: faster.length + 1, label: 'your plan' });
    expect(reference?.summary.stepSeconds).toBe(mine);
  });

  test.each<[string, Choices]>([
    ['absent', {}],
    ['invalid', { plan: { tp: 3 } }],
  ])('is null where it is %s', (_, choices) => {
    expect(searched(problemOf(choices)).reference).toBeNull();
  });
});

describe('constraints', () => {
  const search = (constraints: Choices['constraints']) =>
    searched(problemOf({ ...(constraints === undefined ? {} : { constraints }) }), 1000);

  test.each<[string, NonNullable<Choices['constraints']>, (plan: Plan) => boolean]>([
    ['tp', { pin: { tp: [2, 4] } }, ({ tp }) => tp === 2 || tp === 4],
    ['dp', { pin: { dp: [4] } }, ({ dp }) => dp === 4],
    ['recompute.mode', { pin: { 'recompute.mode': ['full'] } }, ({ recompute }) => recompute.mode === 'full'],
    ['schedule.name', { pin: { 'schedule.name': ['interleaved-1f1b'] } }, ({ vpp }) => vpp > 1],
    ['overlap.tp', { pin: { 'overlap.tp': [true] } }, ({ overlap }) => overlap.tp],
    ['exclude', { exclude: { 'sharding.zeroStage': [0] } }, ({ sharding }) => sharding.zeroStage === 1],
  ])('%s: only such plans, and all of them', (_, constraints, allowed) => {
    const { best, stats } = search(constraints);
    expect(best.length).toBeGreaterThan(0);
    expect(best.every(({ plan }) => allowed(plan))).toBe(true);
    expect(best).toHaveLength(stats.feasible);
    const free = search({}).best.filter(({ plan }) => allowed(plan));
    if (free.length > 0) expect(best.map(({ key }) => key)).toEqual(free.map(({ key }) => key));
  });

  test('a least MFU leaves out what is slower', () => {
    const free = search({});
    const minMfu = free.best[10]!.mfu;
    const { best, stats } = search({ minMfu });
    expect(best.map(({ key }) => key)).toEqual(free.best.filter(({ mfu }) => mfu >= minMfu).map(({ key }) => key));
    expect(stats.prunedByReason['min-mfu']).toBe(free.stats.feasible - stats.feasible);
  });

  test.each<[string, Choices, RegExp]>([
    [
      'too much memory',
      { model: { numLayers: 96, hiddenSize: 12_288, ffnHiddenSize: 49_152 } },
      /^Memory: the smallest plan \(.*\) needs .* GiB/,
    ],
    ['too many accelerators', { constraints: { maxAccelerators: 4 } }, /8 accelerators but the limit is 4/],
    ['contradicting pins', { constraints: { pin: { tp: [2], dp: [3] } } }, /Pins and exclusions rule out/],
    ['an MFU beyond reach', { constraints: { minMfu: 0.99 } }, /stay below the least MFU/],
    [
      'a batch that divides by nothing',
      { globalBatchSize: 5, numAccelerators: 64, model: { numLayers: 7, numHeads: 5, numKvHeads: 5 } },
      /Every split breaks a rule/,
    ],
  ])('an empty answer says why: %s', (_, choices, reason) => {
    const { best, whyEmpty } = searched(problemOf(choices));
    expect(best).toEqual([]);
    expect(whyEmpty.join('\n')).toMatch(reason);
  });

  test('a full answer gives no such reasons', () => {
    expect(search({}).whyEmpty).toEqual([]);
  });
});

describe('progress', () => {
  const problem = exampleProblem('llama-3.1-8b');
  const request = { index: 0, total: 1, top: 3 };

  test('is told in steps, up to the whole slice', () => {
    const covered: number[] = [];
    const { stats, stopped } = searchSlice(problem, request, (count) => {
      covered.push(count);
      return true;
    });
    expect(stopped).toBe(false);
    expect(covered.length).toBeGreaterThan(2);
    expect(covered).toEqual(covered.toSorted((a, b) => a - b));
    expect(covered.at(-1)).toBeLessThanOrEqual(stats.enumerated);
  });

  test('stops when it is told to, with what was found so far', () => {
    let calls = 0;
    const slice = searchSlice(problem, request, () => ++calls < 2);
    expect(calls).toBe(2);
    expect(slice.stopped).toBe(true);
    expect(slice.stats.enumerated).toBeLessThan(countPlans(problem));
    expect(slice.stats.enumerated).toBeGreaterThan(0);
  });
});
