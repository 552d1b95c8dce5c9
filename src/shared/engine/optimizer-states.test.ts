import { expect, test } from 'vitest';
import { optimizers, type Job } from '../schema/index.ts';
import { optimizerStatesOf } from './optimizer-states.ts';

type Precision = Job['precision'];

function bytes(precision: Partial<Precision>, family: Job['framework']['family'] = 'megatron-lm') {
  const half: Precision = { compute: 'bf16', weights: 'bf16', gradients: 'fp32', optimizer: 'adam-fp32' };
  return optimizerStatesOf({ precision: { ...half, ...precision }, framework: { family, version: null, stack: null } });
}

// bytes per parameter as docs/MODEL.md §3.1 lists them
test.each([
  [{}, 12],
  [{ weights: 'fp32' }, 8],
  [{ compute: 'fp16', weights: 'fp16', gradients: 'fp16' }, 16],
  [{ optimizer: 'adam-bf16', gradients: 'bf16' }, 8],
  [{ optimizer: 'adam-8bit' }, 6],
  [{ optimizer: 'adam-bf16-pure', gradients: 'bf16' }, 4],
  [{ optimizer: 'sgd-momentum' }, 8],
  [{ optimizer: 'adafactor' }, 4],
] satisfies [Partial<Precision>, number][])('%j keeps %d bytes', (precision, expected) => {
  expect(bytes(precision).perParameter).toBe(expected);
});

test('DeepSpeed takes 16-bit gradients as they are: 2 + 2 + 12 bytes (ZeRO §5.1)', () => {
  expect(bytes({ gradients: 'bf16' }, 'deepspeed').perParameter).toBe(12);
});

test('Muon leaves embedding, head and norms to Adam', () => {
  expect(bytes({ optimizer: 'muon' })).toMatchObject({ perParameter: 8, perOuterParameter: 12 });
});

test('every optimizer has a label of its own', () => {
  expect(new Set(optimizers.map((optimizer) => bytes({ optimizer }).label)).size).toBe(optimizers.length);
});
