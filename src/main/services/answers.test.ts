import { expect, test } from 'vitest';
import { scenarioOf } from '#shared/engine/testing/problems.ts';
import { withOverrides } from './answers.ts';

test('an exclusion of the command line adds to those of the file, a pin takes the place of one', () => {
  const scenario = scenarioOf({ constraints: { pin: { tp: [1] }, exclude: { tp: [8], pp: [2] } } });
  const { constraints } = withOverrides(scenario, { pin: ['tp=2'], exclude: ['tp=4', 'recompute.mode=full'] });
  expect(constraints.pin).toEqual({ tp: [2] });
  expect(constraints.exclude).toEqual({ tp: [8, 4], pp: [2], 'recompute.mode': ['full'] });
});
