import { describe, expect, test } from 'vitest';
import { evaluatePlan } from '../../engine/evaluate.ts';
import { toProblem } from '../../engine/problem.ts';
import { acceleratorOf, calibration } from '../../engine/testing/catalog.ts';
import { scenarioOf } from '../../engine/testing/problems.ts';
import { stackOf } from '../../layer-stack.ts';
import type { PlanInput } from '../../schema/index.ts';
import { readHfConfig } from './index.ts';
import configs from './testing/configs.json' with { type: 'json' };
import families from './testing/families.json' with { type: 'json' };

const files: { name: string; config: object }[] = [...configs.models, ...families.models];
/** One model for every mixer and feed-forward part. */
const named = [
  'DeepSeek-V3.2',
  'DeepSeek-V4-Flash',
  'Kimi-Linear-48B',
  'LFM2-1.2B',
  'Jamba-v0.1',
  'Qwen3-Next-80B-A3B',
  'MiniMax-Text-01',
  'gpt-oss-20b',
  'NVIDIA-Nemotron-3-Super-120B-A12B-FP8',
];
const read = (name: string) =>
  readHfConfig(JSON.stringify(files.find((file) => file.name === name)!.config), name).model;

/** A plan that splits nothing but the batch, or the layers too. */
function estimateOf(name: string, plan: PlanInput) {
  const scenario = scenarioOf({
    accelerator: 'h100-80gb-sxm',
    numAccelerators: 64,
    seqLen: 4096,
    globalBatchSize: 256,
  });
  const problem = toProblem({ ...scenario, model: read(name) }, acceleratorOf('h100-80gb-sxm'), calibration);
  const { violations, estimate } = evaluatePlan(problem, plan);
  expect(violations).toEqual([]);
  return estimate!;
}

describe('models of every kind of layer can be planned', () => {
  test('together they have every kind', () => {
    const kinds = named.flatMap((name) => stackOf(read(name)).kinds);
    expect(new Set(kinds.map(({ mixer }) => mixer.type))).toEqual(
      new Set([
        'attention',
        'mla',
        'compressed',
        'mamba1',
        'mamba2',
        'gated-delta',
        'kimi-delta',
        'linear-attention',
        'short-conv',
        'none',
      ]),
    );
    expect(new Set(kinds.map(({ ffn }) => ffn.type))).toEqual(new Set(['dense', 'moe', 'none']));
  });

  test.each(named)('%s', (name) => {
    const sharded = { zeroStage: 3 as const, group: 'dp' as const, reshardAfterForward: true };
    const one = estimateOf(name, { sharding: sharded });
    const two = estimateOf(name, { tp: 2, sequenceParallel: true, sharding: sharded });
    for (const { stepSeconds, peakMemoryBytes, mfu } of [one, two]) {
      expect(stepSeconds).toBeGreaterThan(0);
      expect(peakMemoryBytes).toBeGreaterThan(0);
      expect(mfu).toBeGreaterThan(0.005);
      expect(mfu).toBeLessThan(0.7);
    }
  });
});
