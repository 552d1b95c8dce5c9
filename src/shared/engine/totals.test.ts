import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quantile, summarizeErrors } from './calibration/statistics.ts';
import { divisorsOf } from './divisors.ts';
import { evaluatePlan } from './evaluate.ts';
import { completePlan } from './plan.ts';
import { runTotals, verdictOf } from './summary.ts';
import { caseArbitrary } from './testing/arbitraries.ts';
import { modelOf } from './testing/catalog.ts';
import { exampleProblem, problemOf } from './testing/problems.ts';
import { problemTotals } from './totals.ts';

describe('problemTotals', () => {
  test('of the trillion-parameter run', () => {
    const totals = problemTotals(exampleProblem('gpt-1t'));
    expect(totals.tokensPerStep).toBe(3072 * 2048);
    expect(totals.stepsInRun).toBeCloseTo(450e9 / (3072 * 2048), 6);
    expect(totals.peakFlopsPerSecond).toBe(3072 * 312e12);
    expect(totals.parameters / 1e12).toBeCloseTo(1.008, 3);
    // 18 bytes per parameter of 79 GiB each
    expect(totals.stateBytes).toBe(18 * totals.parameters);
    expect(totals.leastAccelerators).toBe(Math.ceil(totals.stateBytes / totals.usableMemoryBytes));
    expect(totals.costPerHour).toBe(3072 * 2);
    expect(totals.daysAtPeak).toBeGreaterThan(25);
    expect(totals.daysAtPeak).toBeLessThan(84);
  });

  test('no plan is faster than the peak', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        expect(evaluatePlan(problem, plan).estimate!.days).toBeGreaterThan(problemTotals(problem).daysAtPeak!);
      }),
      { numRuns: 50 },
    );
  });

  test('knows no days without tokens and no cost without a price', () => {
    const totals = problemTotals(problemOf({ tokens: null, price: null }));
    expect(totals).toMatchObject({ stepsInRun: null, daysAtPeak: null, costPerHour: null, currency: null });
  });
});

describe('runTotals', () => {
  const problem = problemOf({ numAccelerators: 8, globalBatchSize: 16, seqLen: 1024, tokens: 16_384 * 1000, price: 3 });

  test('are steps × their time, hours of all accelerators and their price', () => {
    const { days, acceleratorHours, cost } = runTotals(problem, 3.6);
    expect(days).toBeCloseTo(3600 / 86_400, 12);
    expect(acceleratorHours).toBeCloseTo(8, 12);
    expect(cost).toBeCloseTo(24, 12);
  });

  test.each([
    ['tokens', { tokens: null }, { days: null, cost: null, acceleratorHours: null }],
    ['a price', { price: null }, { cost: null }],
  ])('are unknown without %s', (_, choices, expected) => {
    expect(runTotals(problemOf(choices), 1)).toMatchObject(expected);
  });
});

describe('verdictOf', () => {
  const problem = problemOf({ constraints: { headroomFraction: 0.1 } });
  const usable = problem.device.usableMemoryBytes;

  test.each([
    [0.5, 'fits'],
    [0.9, 'fits'],
    [0.9001, 'at-risk'],
    [1, 'at-risk'],
    // the allocator gives back up to 5 % that no tensor lies in
    [1.04, 'at-risk'],
    [1.06, 'out-of-memory'],
  ])('%f of the usable memory with a headroom of a tenth: %s', (share, verdict) => {
    expect(verdictOf(problem, completePlan(problem, {}), share * usable)).toBe(verdict);
  });
});

test.each([
  [1, [1]],
  [12, [1, 2, 3, 4, 6, 12]],
  [16, [1, 2, 4, 8, 16]],
  [97, [1, 97]],
])('divisorsOf(%d)', (n, divisors) => {
  expect(divisorsOf(n)).toEqual(divisors);
});

describe('statistics', () => {
  test.each([
    [[], 0.5, null],
    [[3], 0.9, 3],
    [[1, 2, 3, 4], 0.5, 2.5],
    [[4, 1, 3, 2], 0, 1],
    [[4, 1, 3, 2], 1, 4],
    [[0, 10], 0.9, 9],
  ])('quantile(%o, %f) = %d', (values, q, expected) => {
    expect(quantile(values, q)).toBe(expected);
  });

  test('summarizeErrors: absolute errors but for the bias', () => {
    const summary = summarizeErrors([-0.1, 0.2, -0.3]);
    expect(summary).toMatchObject({ count: 3, medianApe: 0.2, bias: -0.1 });
    expect(summary.mape).toBeCloseTo(0.2, 12);
    expect(summary.p90Ape).toBeCloseTo(0.28, 12);
    expect(summarizeErrors([])).toEqual({ count: 0, mape: null, medianApe: null, p90Ape: null, bias: null });
  });
});

test('layers are told by kind, in words, and add up to the model without its ends', () => {
  const { layers, parameters, tokensPerParameter, computeOptimalTokens, activeParameters } = problemTotals(
    problemOf({ model: modelOf('deepseek-v3'), tokens: 14.8e12, numAccelerators: 2048, accelerator: 'h800-80gb-sxm' }),
  );
  expect(layers.kinds.map(({ count }) => count)).toEqual([3, 58]);
  expect(layers.order).toHaveLength(61);
  expect(layers.mtpLayers).toBe(1);
  expect(layers.kinds[1]).toMatchObject({
    mixer: 'latent attention, 128 heads over a latent of 512',
    ffn: '256 experts of 2,048, 8 per token, shared ones of 2,048',
  });
  const inLayers = layers.kinds.reduce((sum, kind) => sum + kind.count * kind.parameters, 0);
  expect(parameters - inLayers).toBe(2 * 129_280 * 7168 + 7168); // embedding, head, final norm
  expect(tokensPerParameter).toBeCloseTo(14.8e12 / activeParameters, 9);
  // Hoffmann et al. 2022 table 3: 10 B want 205 B tokens, 67 B want 1.5 T
  expect(computeOptimalTokens).toBeGreaterThan(205e9);
  expect(computeOptimalTokens).toBeLessThan(1.5e12);
});
