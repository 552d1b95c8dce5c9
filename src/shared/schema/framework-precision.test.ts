import { expect, test } from 'vitest';
import { presets } from '../engine/testing/catalog.ts';
import { parseScenarioValue, resolveScenario, type Scenario } from './index.ts';

const precisionOf = (job: object): Scenario['job']['precision'] =>
  resolveScenario(
    parseScenarioValue({
      format: 'trainyard/scenario',
      version: 1,
      name: 'small',
      model: { preset: 'llama-3.2-1b' },
      cluster: { accelerator: 'H100', numAccelerators: 8 },
      job: { globalBatchSize: 8, seqLen: 2048, ...job },
    }),
    presets,
  ).job.precision;

test.each([
  ['megatron-lm', 'bf16', 'fp32'],
  ['fsdp', 'fp32', 'fp32'],
  ['deepspeed', 'bf16', 'bf16'],
])('weights and gradients of %s unless they are stated', (family, weights, gradients) => {
  expect(precisionOf({ framework: { family } })).toMatchObject({ weights, gradients });
  expect(precisionOf({ framework: { family }, precision: { gradients: 'fp32' } }).gradients).toBe('fp32');
});
