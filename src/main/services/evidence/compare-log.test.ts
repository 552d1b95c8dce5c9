import { expect, test } from 'vitest';
import { AppError } from '#shared/errors.ts';
import { GIB } from '#shared/units.ts';
import { resourcesDir } from '../../app-paths.ts';
import { Planner } from '../planner.ts';

const planner = new Planner({ resourcesDir });
const { scenario } = planner.catalog.examples.find(({ id }) => id === 'gpt-1t')!;
const plan = scenario.plan!;
const log = (seconds: number) =>
  `iteration 5/9 | elapsed time per iteration (ms): ${seconds * 1000} | global batch size: 7 |\n` +
  '[Rank 0] memory (MB) | max allocated: 51200.0 | max reserved: 61440.0';

test('a log is set against the plan that it is of, pool against pool, and says in what it differs', () => {
  const { estimate } = planner.evaluate(scenario, plan);
  const compared = planner.compareLog(scenario, plan, log(estimate!.stepSeconds / 1.25));
  expect(compared.errorFraction).toBeCloseTo(0.25, 6);
  expect(compared.measured.peakMemoryBytes).toBe(60 * GIB);
  expect(compared.predicted.peakMemoryBytes).toBe(estimate!.reservedMemoryBytes);
  expect(compared.notes).toEqual([`The log has a global batch of 7, the scenario ${scenario.job.globalBatchSize}.`]);
});

test('a plan that breaks a rule has no prediction to compare', () => {
  expect(() => planner.compareLog(scenario, { tp: 7 }, log(1))).toThrow(AppError);
});
