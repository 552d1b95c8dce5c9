import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completePlan } from '../plan.ts';
import { StepModel } from '../step/index.ts';
import { problemOf } from '../testing/problems.ts';
import { hostWait } from './launches.ts';

describe('waiting for the host', () => {
  test('a device with long kernels waits for nothing, one with short kernels for the host', () => {
    expect(hostWait(1, 0)).toBe(0);
    expect(hostWait(1, 0.1)).toBeLessThan(1e-4);
    expect(hostWait(0.1, 1)).toBeCloseTo(0.9, 3);
    // where both take as long, some kernels wait
    expect(hostWait(1, 1)).toBeCloseTo(2 ** 0.25 - 1, 12);
  });

  test('property: more work on either side never ends earlier', () => {
    const seconds = fc.double({ min: 1e-6, max: 10, noNaN: true });
    fc.assert(
      fc.property(seconds, seconds, fc.double({ min: 1, max: 4, noNaN: true }), (device, host, more) => {
        const ends = device + hostWait(device, host);
        expect(device * more + hostWait(device * more, host)).toBeGreaterThanOrEqual(ends * (1 - 1e-12));
        expect(device + hostWait(device, host * more)).toBeGreaterThanOrEqual(ends * (1 - 1e-12));
      }),
    );
  });
});

const moe = {
  moe: {
    numExperts: 32,
    expertsPerToken: 4,
    expertFfnHiddenSize: 512,
    sharedExpertFfnHiddenSize: 0,
    sharedExpertGate: false,
    router: null,
    denseFirst: 0,
    everyN: 1,
  },
};
const cost = (runtime: Parameters<typeof completePlan>[1]['runtime'], model: object = moe) => {
  const problem = problemOf({ model, accelerator: 'h100-80gb-sxm', seqLen: 512 });
  return new StepModel(problem).cost(
    completePlan(problem, { ep: 'moe' in model ? 8 : 1, ...(runtime && { runtime }) }),
  );
};
const waited = (...args: Parameters<typeof cost>) => cost(...args).hostWaits[0] ?? NaN;

describe('experts and the host', () => {
  test('routing takes many launches: a layer with experts waits longer than a dense one', () => {
    expect(waited({})).toBeGreaterThan(2 * waited({}, {}));
  });

  test('graphs of a layer leave what depends on routed tokens; full graphs, or padded experts, nothing', () => {
    expect(waited({ cudaGraphs: 'per-layer' })).toBeGreaterThan(0);
    expect(waited({ cudaGraphs: 'per-layer' })).toBeLessThan(waited({}));
    expect(waited({ cudaGraphs: 'full' })).toBe(0);
    expect(waited({ cudaGraphs: 'per-layer', expertCapacity: 'padded' })).toBe(0);
  });

  test('uneven experts take longer, by as much as the waterfall says', () => {
    const [even, uneven] = [
      cost({ expertImbalance: 1, cudaGraphs: 'full' }),
      cost({ expertImbalance: 2, cudaGraphs: 'full' }),
    ];
    const seconds = ({ kinds: [kind] }: typeof even) =>
      Object.values(kind!.cost.shares.uneven).reduce((sum, one) => sum + one, 0);
    expect(seconds(even)).toBe(0);
    const [slow, quick] = [uneven, even].map(
      ({ kinds: [kind] }) => kind!.cost.forwardSeconds + kind!.cost.backwardSeconds,
    );
    expect(slow! - seconds(uneven)).toBeCloseTo(quick!, 12);
    expect(slow).toBeGreaterThan(quick!);
  });
});
