import { expect, test } from 'vitest';
import type { EvidenceRow } from '#shared/schema/index.ts';
import { choicesOf, errorsOf, filtered, noFilters, pointsOf, scaleOf } from './evidence-rows.ts';

function rowOf(id: string, patch: Partial<EvidenceRow> = {}): EvidenceRow {
  return {
    id,
    source: { title: 's', url: null, where: null },
    framework: 'NeMo',
    stack: 'nemo',
    task: 'pretrain',
    model: 'Llama 3 8B',
    family: 'llama',
    kind: 'dense',
    parameters: 8e9,
    accelerator: 'h100-80gb-sxm',
    numAccelerators: 8,
    precision: 'bf16',
    seqLen: 8192,
    globalBatchSize: 128,
    split: 'tp=1',
    quality: 'A',
    flags: [],
    counts: true,
    predicted: { stepSeconds: 1.1, peakMemoryBytes: null },
    measured: { stepSeconds: 1, peakMemoryBytes: null },
    errorFraction: 0.1,
    memoryErrorFraction: null,
    missing: [],
    skipped: null,
    ...patch,
  };
}
const rows = [
  rowOf('a'),
  rowOf('b', { kind: 'moe', numAccelerators: 64, precision: 'fp8' }),
  rowOf('c', { stack: 'torchtitan', numAccelerators: 513, errorFraction: null }),
];

test('filters hold together', () => {
  const ids = (patch: object) => filtered(rows, { ...noFilters(), ...patch }).map(({ id }) => id);
  expect(ids({})).toEqual(['a', 'b', 'c']);
  expect(ids({ kind: 'dense' })).toEqual(['a', 'c']);
  expect(ids({ kind: 'dense', stack: 'nemo' })).toEqual(['a']);
  expect(ids({ scale: 'more than 512' })).toEqual(['c']);
});

test('scales end where they say', () => {
  expect([8, 9, 64, 65, 512, 513].map((numAccelerators) => scaleOf(rowOf('x', { numAccelerators })))).toEqual([
    'up to 8',
    '9 to 64',
    '9 to 64',
    '65 to 512',
    '65 to 512',
    'more than 512',
  ]);
});

test('choices come with their number, most frequent first', () => {
  expect(choicesOf(rows, 'stack')).toEqual([
    { value: 'nemo', count: 2 },
    { value: 'torchtitan', count: 1 },
  ]);
});

test('a run without a prediction is no point', () => {
  expect(pointsOf(rows).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('errors of a set: median and mean of their size, median with sign', () => {
  const of = (values: number[]) => errorsOf(values.map((errorFraction) => ({ errorFraction })));
  expect(of([-0.3, 0.1, 0.2])).toEqual({ median: 0.2, mape: expect.closeTo(0.2, 12) as number, bias: 0.1 });
  expect(of([-0.1, 0.2]).bias).toBeCloseTo(0.05, 12);
  expect(of([])).toEqual({ median: null, mape: null, bias: null });
});
