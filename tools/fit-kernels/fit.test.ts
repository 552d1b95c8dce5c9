import { expect, test } from 'vitest';
import { fitCurve, type CurveKind, type Row } from './fit.ts';

interface LineRow extends Row {
  readonly size: number;
}
interface Line {
  readonly secondsPerByte: number;
}

const kind: CurveKind<LineRow, Line> = {
  parameters: [{ name: 'secondsPerByte', start: 1, lower: 1e-3, upper: 1e3 }],
  toCurve: ([secondsPerByte = 0]) => ({ secondsPerByte }),
  predict: (curve, row) => curve.secondsPerByte * row.size,
};
const rows: LineRow[] = Array.from({ length: 400 }, (_, i) => ({
  size: i + 1,
  // Every tenth row takes half as long again.
  seconds: 2 * (i + 1) * (i % 10 === 0 ? 1.5 : 1),
  matters: i >= 100,
  weight: 1,
  bucket: i < 200 ? 'small' : 'large',
  key: String(i),
}));

test('reports errors over the rows that matter, all rows, and each bucket', () => {
  const { secondsPerByte, fit } = fitCurve(kind, rows);
  expect(secondsPerByte).toBeCloseTo(2, 1);
  expect(fit.rows).toBe(300);
  expect(fit.allRows.rows).toBe(400);
  expect(fit.buckets['small']?.rows).toBe(200);
  expect(fit.medianApe).toBeLessThan(0.02);
  expect(fit.p95Ape).toBeCloseTo(1 / 3, 1);
});

test('predicts every row that matters once by parameters that have not seen it', () => {
  const { fit } = fitCurve(kind, rows);
  expect(fit.heldOut.rows).toBe(300);
});

test('does not depend on the order of the rows', () => {
  expect(fitCurve(kind, rows.toReversed()).fit).toEqual(fitCurve(kind, rows).fit);
});

test('holds out what only one half knows', () => {
  // Rows whose time is a property of their key alone cannot be predicted from the other half.
  const noisy = rows.map((row, i) => ({ ...row, seconds: row.size * (i % 2 === 0 ? 1 : 3) }));
  expect(fitCurve(kind, noisy).fit.heldOut.medianApe).toBeGreaterThan(0.2);
});
