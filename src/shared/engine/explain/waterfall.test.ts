/** Losses that are told by themselves: casts, adding weight gradients, unevenly filled experts. */
import { describe, expect, test } from 'vitest';
import type { PlanInput, TimePart } from '../../schema/index.ts';
import { completePlan, evaluatePlan } from '../index.ts';
import { StepModel } from '../step/index.ts';
import { problemOf, type Choices } from '../testing/problems.ts';
import { memoryTime, processorOf, weightGradientTime } from '../compute.ts';

const moe = {
  numExperts: 16,
  expertsPerToken: 2,
  expertFfnHiddenSize: 512,
  sharedExpertFfnHiddenSize: 0,
  sharedExpertGate: false,
  denseFirst: 0,
  everyN: 1,
  router: null,
} as const;

function estimateOf(choices: Choices, input: PlanInput) {
  const problem = problemOf(choices);
  const { estimate, violations } = evaluatePlan(problem, completePlan(problem, input));
  if (estimate === null) throw new Error(JSON.stringify(violations));
  return estimate;
}

function lossOf(choices: Choices, input: PlanInput, label: string): number {
  const { waterfall, stepSeconds } = estimateOf(choices, input);
  expect(waterfall.reduce((sum, { seconds }) => sum + seconds, 0)).toBeCloseTo(stepSeconds, 12);
  return waterfall.find((step) => step.label === label)?.seconds ?? 0;
}

function costOf(choices: Choices, input: PlanInput) {
  const problem = problemOf(choices);
  return { problem, cost: new StepModel(problem).cost(completePlan(problem, input)) };
}

const flatten = (part: TimePart): TimePart[] => [part, ...part.children.flatMap(flatten)];

describe('unevenly filled experts', () => {
  const planOf = (expertImbalance: number, ep = 8): PlanInput => ({
    ep,
    // no waiting for the host, which a longer kernel would shorten
    runtime: { expertImbalance, cudaGraphs: 'full' },
  });
  const uneven = (expertImbalance: number, ep = 8) =>
    lossOf({ model: { moe } }, planOf(expertImbalance, ep), 'Uneven experts');

  test('even ones lose nothing; more uneven ones lose more', () => {
    expect(uneven(1)).toBe(0);
    expect(uneven(1.1)).toBeGreaterThan(0);
    expect(uneven(2)).toBeGreaterThan(uneven(1.1));
  });

  test('the bar is what the step takes longer', () => {
    const step = (expertImbalance: number) => estimateOf({ model: { moe } }, planOf(expertImbalance)).stepSeconds;
    expect(uneven(2)).toBeCloseTo(step(2) - step(1), 9);
  });

  test('a rank that holds all experts gets all rows', () => {
    expect(uneven(2, 1)).toBe(0);
  });

  test('the parts tell even and uneven time of each pass', () => {
    const { parts } = estimateOf({ model: { moe } }, planOf(2));
    const experts = flatten(parts).filter(({ label }) => label === 'Experts, up');
    expect(experts.length).toBeGreaterThan(1);
    for (const { seconds, children } of experts) {
      expect(children.map(({ label }) => label)).toEqual(['Evenly filled experts', 'Fullest rank beyond the mean']);
      expect(children.reduce((sum, child) => sum + child.seconds, 0)).toBeCloseTo(seconds, 12);
    }
  });
});

describe('casts to fewer bits', () => {
  test.each([
    ['fp8', 4, 1],
    ['fp4', 7.125, 3],
  ] as const)('%s casts every input and every output’s gradient of the linear layers', (compute, bytes, kernels) => {
    const choices: Choices = { accelerator: 'gb200-nvl72', precision: { compute }, model: { numLayers: 1 } };
    const { problem, cost } = costOf(choices, { dp: 8 });
    const { hiddenSize: h, numHeads: a, numKvHeads: k, headDim, ffnHiddenSize: f } = problem.model;
    const tokens = problem.workload.seqLen;
    // inputs of QKV, projection, up and down, then the gradients of what they give
    const widths = [h, a * headDim, h, f, (a + 2 * k) * headDim, h, 2 * f, h];
    const processor = processorOf(problem);
    const byHand = widths.reduce((sum, width) => sum + memoryTime(processor, bytes * tokens * width, kernels), 0);
    expect(lossOf(choices, { dp: 8 }, 'Casts to fewer bits')).toBeCloseTo(cost.numMicroBatches * byHand, 12);
  });

  test('16 bits cast nothing', () => {
    expect(lossOf({}, { dp: 8 }, 'Casts to fewer bits')).toBe(0);
  });
});

describe('weight gradients', () => {
  const choices: Choices = { model: { numLayers: 1, normalization: 'rmsnorm' } };

  test('adding them to their sum is a bar: read and write 4 bytes, less the 2 that an unfused kernel would write', () => {
    const { problem, cost } = costOf(choices, { dp: 8 });
    const { hiddenSize: h, numHeads: a, numKvHeads: k, headDim, ffnHiddenSize: f } = problem.model;
    const processor = processorOf(problem);
    const attention = memoryTime(processor, 6 * (h * (a + 2 * k) * headDim + a * headDim * h), 0);
    const ffn = memoryTime(processor, 6 * 3 * h * f, 0);
    const bar = lossOf(choices, { dp: 8 }, 'Weight-gradient accumulation');
    expect(bar).toBeCloseTo(cost.numMicroBatches * (attention + ffn), 12);
  });

  test('a split backward holds the linear layers’ own shapes and that sum', () => {
    const { problem, cost } = costOf(choices, { dp: 8 });
    const { hiddenSize: h, numHeads: a, numKvHeads: k, headDim, ffnHiddenSize: f } = problem.model;
    const m = problem.workload.seqLen;
    const processor = processorOf(problem);
    const shapes = [
      { m, n: (a + 2 * k) * headDim, k: h },
      { m, n: h, k: a * headDim },
      { m, n: 2 * f, k: h },
      { m, n: h, k: f },
    ];
    const matmuls = shapes.reduce((sum, shape) => sum + weightGradientTime(processor, shape), 0);
    const layer = cost.kinds[0]!.cost;
    const { elementwise } = layer.shares.accumulation;
    expect(layer.weightGradientSeconds).toBeCloseTo(matmuls + elementwise, 12);
  });
});
