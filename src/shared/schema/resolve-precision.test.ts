import { expect, test } from 'vitest';
import { presets } from '../engine/testing/catalog.ts';
import { parseScenarioValue, resolveScenario } from './index.ts';

const precisionOf = (family: string, precision: object) =>
  resolveScenario(
    parseScenarioValue({
      format: 'trainyard/scenario',
      version: 1,
      name: 'small',
      model: { preset: 'gpt-1t' },
      cluster: { preset: 'selene-a100-80gb', numAccelerators: 3072 },
      job: { globalBatchSize: 3072, seqLen: 2048, framework: { family }, precision },
    }),
    presets,
  ).job.precision;

test.each([
  ['megatron-lm', 'bf16', 'fp32'],
  ['fsdp', 'fp32', 'fp32'],
  ['deepspeed', 'bf16', 'bf16'],
])('weights and gradients of %s unless they are stated', (family, weights, gradients) => {
  expect(precisionOf(family, {})).toMatchObject({ weights, gradients });
  expect(precisionOf(family, { gradients: 'fp32' }).gradients).toBe('fp32');
});
