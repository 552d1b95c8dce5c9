/** Every schedule as part of a plan: valid, estimated, added up, and as heavy as its in-flight counts say. */
import { describe, expect, test } from 'vitest';
import type { PlanInput } from '../../schema/index.ts';
import { evaluatePlan } from '../evaluate.ts';
import { residentRanksOf, ranksOf } from '../stages.ts';
import { problemOf } from '../testing/problems.ts';
import { completePlan } from '../plan.ts';
import { schedules, type PlannedSchedule } from './schedules/index.ts';

const ids = Object.keys(schedules) as PlannedSchedule[];
const problem = problemOf({ globalBatchSize: 64 });

function estimateWith(name: PlannedSchedule, more: PlanInput = {}) {
  const vpp = { one: 1, two: 2, several: 2 }[schedules[name].needs.chunks];
  const { valid, violations, estimate } = evaluatePlan(problem, { pp: 4, dp: 2, vpp, schedule: { name }, ...more });
  expect({ valid, violations }).toEqual({ valid: true, violations: [] });
  if (estimate === null) throw new Error('no estimate');
  return estimate;
}

describe.each(ids)('a plan with %s', (name) => {
  test('has a step time that its parts and its waterfall add up to', () => {
    const { stepSeconds, parts, waterfall } = estimateWith(name);
    const sum = (values: readonly { seconds: number }[]) => values.reduce((total, { seconds }) => total + seconds, 0);
    expect(sum(parts.children)).toBeCloseTo(stepSeconds, 12);
    expect(sum(waterfall)).toBeCloseTo(stepSeconds, 12);
  });
});

describe('beside 1F1B', () => {
  const plain = estimateWith('1f1b');
  const stepOf = (name: PlannedSchedule) => estimateWith(name).stepSeconds / plain.stepSeconds;
  const activationsOf = (name: PlannedSchedule) =>
    Math.max(...estimateWith(name).memoryByStage.map(({ activations }) => activations));

  test('GPipe takes as long and holds every micro-batch', () => {
    expect(stepOf('gpipe')).toBeCloseTo(1, 2);
    expect(activationsOf('gpipe')).toBeGreaterThan(7 * activationsOf('1f1b'));
  });

  test('zero-bubble schedules are faster', () => {
    for (const name of ['zb-h1', 'zb-v'] as const) expect(stepOf(name)).toBeLessThan(1);
    expect(stepOf('zb-v')).toBeLessThan(stepOf('zb-h1'));
  });

  test('2BW keeps one more version of the weights and has no bubble', () => {
    const { bubbleFraction, memoryByStage } = estimateWith('pipedream-2bw');
    expect(bubbleFraction).toBe(0);
    memoryByStage.forEach(({ weights }, rank) =>
      expect(weights).toBeCloseTo(2 * (plain.memoryByStage[rank]?.weights ?? 0), 0),
    );
  });

  test('a rank of DualPipe holds its own stage and the mirrored one', () => {
    const { memoryByStage } = estimateWith('dualpipe');
    const states = (stages: typeof memoryByStage, rank: number) => stages.at(rank)?.weights ?? 0;
    memoryByStage.forEach((_, rank) =>
      expect(states(memoryByStage, rank)).toBeCloseTo(
        states(plain.memoryByStage, rank) + states(plain.memoryByStage, -1 - rank),
        -6,
      ),
    );
  });

  test('V-Min holds least, then V-Half, then ZB-V', () => {
    expect(activationsOf('v-min')).toBeLessThan(activationsOf('v-half'));
    expect(activationsOf('v-half')).toBeLessThan(activationsOf('zb-v'));
  });
});

test('a V schedule holds two chunks per rank without being told', () => {
  expect(completePlan(problem, { pp: 4, schedule: { name: 'zb-v' } }).vpp).toBe(2);
  expect(completePlan(problem, { pp: 4, schedule: { name: 'zb-h1' } }).vpp).toBe(1);
});

test('only DualPipe holds more than its own stage', () => {
  for (const name of ids) {
    const plan = completePlan(problem, { pp: 4, vpp: 1, schedule: { name } });
    const own = ranksOf(problem.model, plan);
    const held = residentRanksOf(problem.model, plan);
    if (name !== 'dualpipe') expect(held).toBe(own);
    else
      expect(held?.map(({ layers, hasHead }) => [layers, hasHead])).toEqual(
        [4, 4, 4, 4].map((n, r) => [n, r % 3 === 0]),
      );
  }
});
