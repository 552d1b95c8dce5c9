import { expect, test } from 'vitest';
import { calibration, presets } from '#shared/engine/testing/catalog.ts';
import { AppError } from '#shared/errors.ts';
import { parseRunsText } from '#shared/formats/runs/index.ts';
import { resourcesDir } from '../../app-paths.ts';
import { EvidenceRecord } from './index.ts';
import { evidenceRow, familyOf } from './rows.ts';

const record = new EvidenceRecord(resourcesDir, presets);
const rows = await record.rows(calibration);

test('every recorded run has an answer: a prediction, or why there is none', () => {
  expect(rows.map(({ id }) => id)).toEqual(record.runs.map(({ id }) => id));
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThanOrEqual(1540);
  for (const { predicted, skipped } of rows) expect(predicted.stepSeconds === null).toBe(skipped !== null);
  expect(rows.filter(({ source }) => source.title === 'unknown')).toEqual([]);
});

test('the rows that figures are taken over are those of MEASURE', () => {
  expect(rows.filter(({ counts }) => counts)).toHaveLength(842);
});

test('the thread predicts what the calling thread does, and predicts once', async () => {
  const run = record.runs.find(({ id }) => id === 'sc21-t1-1.7b')!;
  expect(rows.find(({ id }) => id === run.id)).toEqual(evidenceRow(run, { presets, calibration }));
  expect(await record.rows(calibration)).toBe(rows);
});

test('the error is predicted against measured', () => {
  const { errorFraction, predicted, measured } = rows.find(({ id }) => id === 'sc21-t1-1.7b')!;
  expect(measured.stepSeconds).toBe(3.52802);
  expect(errorFraction).toBeCloseTo(predicted.stepSeconds! / 3.52802 - 1, 12);
});

test('a row says which fields a prediction lacks', () => {
  const { runs } = record;
  const run = structuredClone(runs.find(({ id }) => id === 'sc21-t1-1.7b')!);
  const [bare] = parseRunsText(JSON.stringify([{ ...run, model: { ...run.model, vocab: null } }]));
  const row = evidenceRow(bare!, { presets, calibration });
  expect(row).toMatchObject({ missing: ['model.vocab'], errorFraction: null, skipped: 'unknown: model.vocab' });
});

test('a row opens into what was recorded, its plan and parts that sum to the step', () => {
  const { row, plan, parts, recorded } = record.detail('sc21-t1-1.7b', calibration);
  expect(plan).toContain('DP 32');
  expect(recorded).toMatchObject({ quality: 'A', parallel: { mbs: 16 } });
  expect(parts?.seconds).toBeCloseTo(row.predicted.stepSeconds!, 12);
  expect(() => record.detail('nothing', calibration)).toThrow(AppError);
});

test.each([
  ['Llama 3.1 405B', 'llama'],
  ['LLAMA3-70B', 'llama'],
  ['llama2', 'llama'],
  ['DeepSeekV3', 'deepseek'],
  ['GPT 1.7B', 'gpt'],
  ['', 'unknown'],
])('the family of "%s" is %s', (name, family) => {
  expect(familyOf(name)).toBe(family);
});
