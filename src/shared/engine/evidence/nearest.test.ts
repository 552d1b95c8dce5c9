import { expect, test } from 'vitest';
import type { EvidenceRow } from '../../schema/index.ts';
import { nearestEvidence, type EvidenceQuery } from './nearest.ts';

const query: EvidenceQuery = {
  accelerator: 'h100-80gb-sxm',
  kind: 'dense',
  precision: 'bf16',
  stack: 'nemo',
  parameters: 8e9,
  numAccelerators: 64,
  seqLen: 8192,
};

function rowOf(id: string, patch: Partial<EvidenceRow> = {}): EvidenceRow {
  return {
    id,
    source: { title: 's', url: null, where: null },
    framework: 'NeMo',
    task: 'pretrain',
    model: 'm',
    family: 'm',
    globalBatchSize: 128,
    split: 'tp=1',
    quality: 'A',
    flags: [],
    counts: true,
    predicted: { stepSeconds: 1, peakMemoryBytes: null },
    measured: { stepSeconds: 1, peakMemoryBytes: null },
    errorFraction: 0,
    memoryErrorFraction: null,
    missing: [],
    skipped: null,
    ...query,
    stack: 'nemo',
    ...patch,
  };
}

test('what is alike comes first, and is at distance 0', () => {
  const rows = [
    rowOf('gpu', { accelerator: 'a100-80gb-sxm' }),
    rowOf('precision', { precision: 'fp8' }),
    rowOf('larger', { parameters: 32e9 }),
    rowOf('alike'),
    rowOf('stack', { stack: 'torchtitan' }),
    rowOf('experts', { kind: 'moe' }),
  ];
  const { neighbors, warning } = nearestEvidence(query, rows, 10);
  expect(neighbors.map(({ row }) => row.id)).toEqual(['alike', 'larger', 'stack', 'precision', 'experts', 'gpu']);
  expect(neighbors[0]).toMatchObject({ distance: 0, differs: [] });
  expect(neighbors[1]).toMatchObject({ distance: 0.5, differs: ['4.0 × the parameters'] });
  expect(warning).toBeNull();
});

test('rows that do not count are not compared', () => {
  const { neighbors, warning } = nearestEvidence(query, [rowOf('flagged', { counts: false })], 5);
  expect(neighbors).toEqual([]);
  expect(warning).toMatch(/no measured runs/);
});

test('another accelerator, kind or precision is not near, however alike the rest', () => {
  for (const patch of [{ accelerator: 'b200' }, { kind: 'moe' as const }, { precision: 'fp8' }])
    expect(nearestEvidence(query, [rowOf('other', patch)], 5).warning).toContain(Object.values(patch)[0]);
});

test('no more rows than asked for', () => {
  expect(nearestEvidence(query, [rowOf('a'), rowOf('b'), rowOf('c')], 2).neighbors).toHaveLength(2);
});
