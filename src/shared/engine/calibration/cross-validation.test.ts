/** Folds keep what is predicted out of what was fitted; bands and ranking say what they claim. */
import { describe, expect, test } from 'vitest';
import { calibrate, type ParameterPriors } from './cross-validation.ts';
import type { Parameters } from './effects.ts';
import { fewGiven, groupedFolds, leaveOneOut, shuffled } from './folds.ts';
import { situationOf } from './index.ts';
import { bandOf, coverageOf } from './intervals.ts';
import type { MeasuredCase } from './measured.ts';
import { kendallTau, rankingOf } from './ranking.ts';

const around = (prior: number) => ({ prior, low: prior / 2, high: prior * 2 });
const priors: ParameterPriors = {
  matmulSlowdown: around(1),
  attentionSlowdown: around(1),
  memoryEfficiency: around(0.8),
  scaleUpEfficiency: around(1),
  scaleOutEfficiency: around(0.8),
  hostLaunchSeconds: around(1e-5),
  stepOverheadSeconds: around(0.03),
  optimizerEfficiency: around(0.7),
};

/** Three sources on two accelerators: the second source's stack is a third slower than the model says. */
function measured(slow = 4 / 3): MeasuredCase[] {
  const sources = [
    { source: 'a', stack: 'nemo', accelerator: 'h100-80gb-sxm', factor: 1 },
    { source: 'b', stack: 'llm-foundry', accelerator: 'h100-80gb-sxm', factor: slow },
    { source: 'c', stack: 'nemo', accelerator: 'b200-180gb-sxm', factor: 1 },
  ];
  return sources.flatMap(({ source, stack, accelerator, factor }) =>
    Array.from({ length: 12 }, (_, row): MeasuredCase => {
      const seconds = 1 + row * 0.7;
      const predict = ({ matmulSlowdown, stepOverheadSeconds }: Parameters) =>
        seconds * matmulSlowdown + stepOverheadSeconds;
      return {
        ...{ id: `${source}${row}`, kind: 'dense', framework: stack, rankGroup: `${source}${row % 3}`, source },
        ...{ context: { stack, accelerator, precision: 'bf16', kind: 'dense' }, group: `${source}${row >> 1}` },
        ...{ measuredSeconds: seconds * factor + 0.03, predict },
      };
    }),
  );
}

describe('cross-validation', () => {
  const report = calibrate(measured(), priors);
  const errors = new Map(report.errors.map((error) => [error.situation, error]));

  test('every row is left out once in every division', () => {
    for (const by of ['grouped', 'source', 'accelerator', 'framework'] as const)
      expect(report.heldOut[by].map(({ id }) => id).sort()).toEqual(
        measured()
          .map(({ id }) => id)
          .sort(),
      );
  });

  test('a stack that was measured is met; one that was not is off by what it differs; three rows mend it', () => {
    expect(errors.get('covered')!.mape).toBeLessThan(0.02);
    const foundry = report.folds.find(({ by, key }) => by === 'source' && key === 'b')!;
    expect(foundry.bias).toBeLessThan(-0.2);
    const given = report.folds.filter(({ by, key }) => by === 'few' && key.startsWith('b on'));
    expect(given[0]!.mape).toBeLessThan(0.06);
  });

  test('what a source measured has no part in its own prediction', () => {
    const other = calibrate(measured(2), priors);
    const ofB = (rows: typeof report.heldOut.source) => rows.filter(({ id }) => id.startsWith('b'));
    for (const [i, row] of ofB(report.heldOut.source).entries())
      expect(ofB(other.heldOut.source)[i]!.predictedSeconds).toBeCloseTo(row.predictedSeconds, 2);
  });

  test('it counts its evidence and is deterministic', () => {
    expect(report.evidence).toContainEqual({
      stack: 'llm-foundry',
      accelerator: 'h100-80gb-sxm',
      kind: 'dense',
      rows: 12,
    });
    expect(calibrate(measured(), priors)).toEqual(report);
    const nemo = { stack: 'nemo', accelerator: 'h100-80gb-sxm', precision: 'bf16', kind: 'dense' };
    expect(situationOf(report, nemo)).toBe('covered');
    expect(situationOf(report, { ...nemo, stack: 'maxtext' })).toBe('new-source');
    expect(situationOf(report, { ...nemo, kind: 'moe' })).toBe('new-source');
    expect(situationOf(report, { ...nemo, accelerator: 'gb300-nvl72' })).toBe('new-accelerator');
  });
});

describe('folds', () => {
  const items = Array.from({ length: 40 }, (_, index) => ({ index, key: `k${index >> 1}` }));

  test('keep equal keys together and share the rows out', () => {
    const folds = groupedFolds(items, ({ key }) => key);
    expect(folds.map(({ test: rows }) => rows.length)).toEqual([8, 8, 8, 8, 8]);
    for (const { train, test: rows } of folds) {
      const keys = new Set(rows.map(({ key }) => key));
      expect(train.filter(({ key }) => keys.has(key))).toEqual([]);
      expect(train.length + rows.length).toBe(items.length);
    }
    expect(leaveOneOut(items, ({ key }) => key)).toHaveLength(20);
  });

  test('a seed is a draw: the same again, another for another', () => {
    expect(shuffled(items, 1)).toEqual(shuffled(items, 1));
    expect(shuffled(items, 1)).not.toEqual(shuffled(items, 2));
    expect(shuffled(items, 1).sort((a, b) => a.index - b.index)).toEqual(items);
    const { given, rest } = fewGiven(items, 3, 7);
    expect([given.length, rest.length]).toEqual([3, 37]);
  });
});

describe('bands and ranking', () => {
  test('a band is the 5th to the 95th percentile; too few residuals give none', () => {
    const ratios = Array.from({ length: 101 }, (_, percent) => 0.5 + percent / 100);
    expect(bandOf(ratios)!.low).toBeCloseTo(0.55, 12);
    expect(bandOf(ratios)!.high).toBeCloseTo(1.45, 12);
    expect(bandOf(ratios.slice(0, 7))).toBeNull();
  });

  test('coverage is judged by the other folds: a fold unlike them is not covered', () => {
    const ratios = Array.from({ length: 20 }, (_, row) => 0.95 + row / 200);
    const fold = (name: string, shift: number) => ratios.map((ratio) => ({ ratio: ratio + shift, fold: name }));
    expect(coverageOf([...fold('a', 0), ...fold('b', 0)])).toBeGreaterThan(0.85);
    expect(coverageOf([...fold('a', 0), ...fold('b', 0.5)])).toBe(0);
    expect(coverageOf(fold('a', 0))).toBeNull();
  });

  test("Kendall's τ and the regret of following the prediction", () => {
    expect(
      kendallTau([
        [1, 1],
        [2, 2],
        [3, 3],
      ]),
    ).toBe(1);
    expect(
      kendallTau([
        [1, 3],
        [2, 2],
        [3, 1],
      ]),
    ).toBe(-1);
    const group = (name: string, rows: [number, number][]) =>
      rows.map(([predictedSeconds, measuredSeconds]) => ({ group: name, predictedSeconds, measuredSeconds }));
    const summary = rankingOf([
      ...group('right', [
        [1, 10],
        [2, 20],
      ]),
      ...group('wrong', [
        [1, 12],
        [2, 10],
      ]),
      ...group('too close to say', [
        [1, 10.2],
        [2, 10],
      ]),
    ]);
    expect(summary).toMatchObject({ groups: 2, rows: 4, bestWithin3Percent: 0.5, kendallTau: 0 });
    expect(summary.meanRegret).toBeCloseTo(0.1, 12);
  });
});
