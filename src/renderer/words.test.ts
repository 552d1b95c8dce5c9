import { expect, test } from 'vitest';
import { makePlan } from './test/fixtures.ts';
import { outcomeWords, planWords, recomputeWords, scheduleWords, splitWords, valueWords } from './words.ts';

test('plans are said as the field says them', () => {
  const plan = makePlan({ pp: 64, dp: 6, recompute: { mode: 'full', modules: [], layersPerStage: null } });
  expect(splitWords(plan)).toBe('TP 8 · PP 64 · DP 6');
  expect(splitWords({ ...plan, cp: 2 })).toBe('TP 8 · PP 64 · CP 2 · DP 6');
  expect(planWords(plan)).toBe('TP 8 · PP 64 · DP 6, 1F1B, micro-batch 1, full recompute');
  expect(planWords({ ...plan, layout: 'E|(t|)*80L' })).toMatch(/, layout E\|\(t\|\)\*80L$/);
  expect(scheduleWords({ ...plan, vpp: 3, schedule: { name: 'interleaved-1f1b', groupSize: null } })).toBe(
    '1F1B interleaved 3',
  );
  expect(scheduleWords({ ...plan, pp: 1 })).toBe('no pipeline');
  expect(recomputeWords({ mode: 'selective', modules: ['mlp'], layersPerStage: null })).toBe('selective (mlp)');
});

test('what is unknown is left out of the answer', () => {
  const outcome = { mfu: 0.463, peakMemoryBytes: 71 * 2 ** 30, days: 84, cost: 4.1e6 };
  const limits = { usableMemoryBytes: 79 * 2 ** 30, currency: 'USD' };
  expect(outcomeWords(outcome, limits)).toBe('46.3 % MFU, 71 GiB of 79 GiB, 84 days, $4.1M');
  expect(outcomeWords({ ...outcome, days: null, cost: null }, limits)).toBe('46.3 % MFU, 71 GiB of 79 GiB');
  expect(outcomeWords(outcome, { usableMemoryBytes: null, currency: null })).toBe('46.3 % MFU, 71 GiB, 84 days');
});

test('values are words', () => {
  expect([valueWords(true), valueWords(3072), valueWords('full')]).toEqual(['on', '3,072', 'full']);
});
