import { describe, expect, test } from 'vitest';
import { schemaPaths } from '../../test/schema-paths.ts';
import { clusterGroups, ownHardwareGroup } from './cluster-fields.ts';
import { constraintGroups, jobGroups, labelOf, notesGroup, stepOf } from './field-specs.ts';
import { modelGroups } from './model-fields.ts';
import { coupled } from './use-wizard.ts';
import { parseNumber, parsePercent, showCount, showNumber, showPercent } from './numbers.ts';

describe('numbers in fields', () => {
  test.each([0, 1, 3072, 999_999, 1e6, 450e9, 15.6e12, 1_234_567, 128_256, 25_600, 2.95, 0.5])(
    '%d goes out and back',
    (n) => {
      expect(parseNumber(showCount(n))).toBe(n);
      expect(parseNumber(showNumber(n))).toBe(n);
    },
  );
  test('short where that is exact', () => {
    expect(showCount(450e9)).toBe('450B');
    expect(showCount(15.6e12)).toBe('15.6T');
    expect(showCount(1_234_567)).toBe('1,234,567');
  });
  test('negative numbers are numbers', () => {
    expect(parseNumber('-4')).toBe(-4);
    expect(parseNumber('- ')).toBeNull();
  });
  test.each([0, 0.08, 0.085, 0.5, 1])('%d as a percentage goes out and back', (share) => {
    expect(parsePercent(showPercent(share))).toBe(share);
    expect(parsePercent(`${showPercent(share)} %`)).toBe(share);
  });
});

test('every field of the schema that this version plans can be edited', () => {
  const shown = new Set(
    [...modelGroups, ...clusterGroups, ...jobGroups, ...constraintGroups, notesGroup, ownHardwareGroup].flatMap(
      (group) => group.fields.map((field) => field.path),
    ),
  );
  const elsewhere = [
    ...['format', 'version', 'name', 'plan', 'results', 'job.kind', 'constraints.pin', 'constraints.exclude'],
    ...['model.preset', 'model.name', 'cluster.preset', 'cluster.name', 'cluster.accelerator'],
    'cluster.scaleOut.tiers', // TierFields.vue
    // imported with a model file and shown as text; a name that some routers have
    ...[
      'model.layerKinds',
      'model.layerPattern',
      'model.moe',
      'model.mla',
      'model.moe.router',
      'model.otherParameters',
    ],
  ];
  expect(
    schemaPaths().filter((path) => !shown.has(path) && !elsewhere.includes(path) && !path.startsWith('model.vision')),
  ).toEqual([]);
});

test('a fault leads to the step and the label of its field', () => {
  expect(stepOf('model.hiddenSize')).toBe('model');
  expect(stepOf('objective')).toBe('constraints');
  expect(labelOf('cluster.scaleOut.latencyUs')).toBe('Latency');
  expect(labelOf('odd.path')).toBe('odd.path');
});

test('the task and its adapters follow each other', () => {
  const draft = (task: string, lora: unknown) => ({ job: { task, lora } });
  const adapters = { rank: 8, targets: ['attention'] };
  expect(coupled('job.task', 'lora', draft('pretrain', null))['job.lora']).toMatchObject({ rank: 16 });
  expect(coupled('job.task', 'lora', draft('lora', adapters))['job.lora']).toBe(adapters);
  expect(coupled('job.task', 'sft', draft('lora', adapters))).toEqual({ 'job.lora': null });
  expect(coupled('job.lora', adapters, draft('pretrain', null))).toEqual({ 'job.task': 'lora' });
  expect(coupled('job.lora', null, draft('lora', adapters))).toEqual({ 'job.task': 'sft' });
  expect(coupled('job.seqLen', 4096, draft('lora', adapters))).toEqual({});
});
