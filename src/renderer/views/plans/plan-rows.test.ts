import { expect, test } from 'vitest';
import { makeCell, makePlan, makeResult, makeSummary } from '../../test/fixtures.ts';
import { filterChoices, filtered, planRows } from './plan-rows.ts';

const fast = makeSummary('fast', { stepSeconds: 1 });
const small = makeSummary('small', { stepSeconds: 3, plan: makePlan({ tp: 2 }) });
const cell = makeSummary('cell', { stepSeconds: 2, plan: makePlan({ tp: 4 }) });
const own = makeSummary('own', { stepSeconds: 0.5, verdict: 'out-of-memory' });
const result = makeResult({
  best: [fast, small],
  frontier: [fast, small],
  heatMap: [makeCell(4, 4, { best: cell }), makeCell(8, 4, { best: fast })],
  reference: { summary: own, rank: null, label: 'published split' },
});

test('each plan stands once; ranked first, then the others by time, what does not fit last', () => {
  const rows = planRows(result);
  expect(rows.map(({ summary, rank }) => [summary.key, rank])).toEqual([
    ['fast', 1],
    ['small', 2],
    ['cell', null],
    ['own', null],
  ]);
  expect(rows.map((row) => row.isOnFrontier)).toEqual([true, true, false, false]);
  expect(rows.at(-1)?.referenceLabel).toBe('published split');
});

test('a reference that fits brings its own rank', () => {
  const reference = { summary: makeSummary('own'), rank: 60, label: 'published split' };
  expect(planRows({ ...result, reference }).find((row) => row.summary.key === 'own')?.rank).toBe(60);
});

test('filters keep what has all the values, choices are what occurs', () => {
  const rows = planRows(result);
  expect(filtered(rows, { tp: '8', pp: '4' }).map(({ summary }) => summary.key)).toEqual(['fast', 'own']);
  expect(filtered(rows, { tp: '3' })).toEqual([]);
  expect(filterChoices(rows, 'tp')).toEqual(['2', '4', '8']);
});
