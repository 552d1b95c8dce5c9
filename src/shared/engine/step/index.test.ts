import { describe, expect, test } from 'vitest';
import { completePlan } from '../plan.ts';
import { problemOf } from '../testing/problems.ts';
import { StepModel } from './index.ts';

const cost = (choices: Parameters<typeof problemOf>[0], input: Parameters<typeof completePlan>[1]) => {
  const problem = problemOf(choices);
  return new StepModel(problem).cost(completePlan(problem, input));
};

describe('sharded weights', () => {
  const choices = { accelerator: 'h100-80gb-sxm', numAccelerators: 256, globalBatchSize: 256, seqLen: 512 } as const;

  test('a pass hides no more communication than it lasts', () => {
    const { gradReduce, paramGather, kinds, ranks, numMicroBatches, hostWaits } = cost(choices, {
      sharding: { zeroStage: 3 },
    });
    const layers = ranks[0]!.layers;
    const perLayer = kinds[0]!.cost.forwardSeconds + kinds[0]!.cost.backwardSeconds;
    const total = gradReduce.totalSeconds + paramGather.totalSeconds;
    const exposed = gradReduce.exposedSeconds + paramGather.exposedSeconds;
    expect(exposed).toBeGreaterThan(0);
    const pass = layers * perLayer + (hostWaits[0] ?? 0);
    expect(total - exposed).toBeLessThanOrEqual(numMicroBatches * pass * (1 + 1e-9));
  });

  test('weights that stay from forward to backward are gathered once a micro-batch, not twice', () => {
    const twice = cost(choices, { sharding: { zeroStage: 3 } }).paramGather;
    const once = cost(choices, { sharding: { zeroStage: 3, reshardAfterForward: false } }).paramGather;
    expect(once.bytes).toBeCloseTo(twice.bytes / 2, 0);
    expect(once.totalSeconds).toBeCloseTo(twice.totalSeconds / 2, 12);
  });
});

describe('shards with copies', () => {
  const choices = {
    model: { numLayers: 32, hiddenSize: 4096, ffnHiddenSize: 16_384, numHeads: 32, numKvHeads: 32 },
    ...{ accelerator: 'h100-80gb-sxm', numAccelerators: 256, globalBatchSize: 1024, seqLen: 4096 },
  };
  const sharding = { zeroStage: 1, group: { size: 8 } } as const;

  test('their copies are summed behind the last backward: less is waited for than without overlap', () => {
    const hidden = cost(choices, { sharding }).gradReduce;
    const open = cost(choices, { sharding, overlap: { gradReduce: false } }).gradReduce;
    expect(open.exposedSeconds).toBeCloseTo(open.totalSeconds, 12);
    expect(hidden.totalSeconds).toBeGreaterThan(0.9 * open.totalSeconds);
    expect(hidden.exposedSeconds).toBeLessThan(0.5 * open.exposedSeconds);
  });

  test('a group that fills the ranks is no group', () => {
    const all = cost(choices, { sharding: { zeroStage: 1, group: { size: 256 } } });
    expect(all.stepSeconds).toBe(cost(choices, { sharding: { zeroStage: 1 } }).stepSeconds);
  });
});

test.each(['per-layer', 'full'] as const)('%s CUDA graphs leave no host time between kernels', (cudaGraphs) => {
  const choices = { numAccelerators: 8 };
  expect(cost(choices, {}).hostWaits[0]).toBeGreaterThan(0);
  expect(cost(choices, { runtime: { cudaGraphs } }).hostWaits).toEqual([0]);
});
