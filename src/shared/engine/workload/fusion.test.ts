import { describe, expect, test } from 'vitest';
import { evaluatePlan } from '../index.ts';
import { problemOf } from '../testing/problems.ts';
import { activationBytes, normBytes, residualBytes } from './fusion.ts';
import { distinctPlaces } from './parts/moe.ts';

describe('bytes per element of element-wise work', () => {
  test.each([
    ['LayerNorm is one kernel either way', normBytes({ normalization: 'layernorm' }, false), [4, 8]],
    ['RMSNorm, fused', normBytes({ normalization: 'rmsnorm' }, true), [4, 8]],
    ['RMSNorm, operation by operation', normBytes({ normalization: 'rmsnorm' }, false), [36, 72]],
    ['SwiGLU, fused', activationBytes({ gated: true, bias: false }, true), [6, 10]],
    ['SwiGLU, unfused', activationBytes({ gated: true, bias: false }, false), [10, 18]],
    ['bias and GELU, unfused', activationBytes({ gated: false, bias: true }, false), [8, 8]],
    ['bias, dropout and residual, fused', residualBytes({ dropout: true }, true), [7, 11]],
    ['the same unfused', residualBytes({ dropout: true }, false), [15, 13]],
  ] as const)('%s', (_, { forward, backward }, expected) => {
    expect([forward, backward]).toEqual(expected);
  });

  test('a step without fused kernels takes longer', () => {
    const seconds = (fusedKernels: boolean) =>
      evaluatePlan(problemOf(), { runtime: { fusedKernels } }).estimate!.stepSeconds;
    expect(seconds(false)).toBeGreaterThan(1.02 * seconds(true));
  });
});

test('a token goes once to each domain that holds one of its experts', () => {
  expect(distinctPlaces(8, 1)).toBe(1);
  expect(distinctPlaces(1, 8)).toBeCloseTo(1, 12);
  // two picks of two places: both the same half of the time
  expect(distinctPlaces(2, 2)).toBe(1.5);
  expect(distinctPlaces(8, 8)).toBeLessThan(8);
});

describe('dispatchers', () => {
  const moe = {
    numExperts: 64,
    expertsPerToken: 8,
    expertFfnHiddenSize: 512,
    sharedExpertFfnHiddenSize: 0,
    sharedExpertGate: false,
    router: null,
    denseFirst: 0,
    everyN: 1,
  };
  const seconds = (expertDispatcher: 'alltoall' | 'deepep', ep: number) => {
    const problem = problemOf({
      model: { moe },
      accelerator: 'h100-80gb-sxm',
      numAccelerators: 32,
      globalBatchSize: 64,
      seqLen: 4096,
    });
    const plan = { ep, runtime: { expertDispatcher, cudaGraphs: 'full' as const } };
    const { waterfall } = evaluatePlan(problem, plan).estimate!;
    return waterfall.find(({ label }) => label === 'Expert communication')!.seconds;
  };

  test('over several domains DeepEP sends each token once to each, so that less crosses the network', () => {
    expect(seconds('deepep', 32)).toBeLessThan(0.7 * seconds('alltoall', 32));
  });

  test('inside one domain both send the same', () => {
    expect(seconds('deepep', 8)).toBeCloseTo(seconds('alltoall', 8), 12);
  });
});
