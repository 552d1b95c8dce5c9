import { describe, expect, test } from 'vitest';
import { evaluatePlan } from './evaluate.ts';
import { stageMemory } from './memory/index.ts';
import type { Problem } from './problem.ts';
import { problemOf } from './testing/problems.ts';
import { problemTotals } from './totals.ts';

const whole = problemOf();
const adapted: Problem = {
  ...whole,
  workload: { ...whole.workload, adapters: { rank: 16, targets: ['attention', 'ffn'] } },
};
const estimateOf = (problem: Problem, plan: Parameters<typeof evaluatePlan>[1]) =>
  evaluatePlan(problem, plan).estimate!;

describe('plans of a LoRA task', () => {
  test.each([
    ['data parallel', {}],
    ['tensor parallel', { tp: 2, sequenceParallel: true }],
    ['pipeline parallel', { pp: 2 }],
    ['fully sharded', { sharding: { zeroStage: 3 as const, group: 'dp' as const, reshardAfterForward: true } }],
  ])('%s: less memory, less time, parts still add up', (_, plan) => {
    const all = estimateOf(whole, plan);
    const few = estimateOf(adapted, plan);
    expect(few.peakMemoryBytes).toBeLessThan(all.peakMemoryBytes);
    expect(few.stepSeconds).toBeLessThan(all.stepSeconds);
    // two of three matmul passes remain, and attention whole
    expect(few.stepSeconds / all.stepSeconds).toBeGreaterThan(0.5);
    const { seconds, children } = few.parts;
    expect(children.reduce((sum, part) => sum + part.seconds, 0)).toBeCloseTo(seconds, 9);
  });

  test('gradients and states are the adapters’ alone', () => {
    const { stateBytes, trainedParameters, parameters } = problemTotals(adapted);
    expect(stateBytes).toBe(18 * trainedParameters + 2 * parameters);
    const { plan } = evaluatePlan(adapted, {});
    const [few, all] = [stageMemory(adapted, plan, 0), stageMemory(whole, plan, 0)];
    expect(few.weights).toBe(all.weights + 2 * trainedParameters);
    expect(few.gradients).toBe(4 * trainedParameters);
    expect(few.optimizer).toBe((12 * trainedParameters) / plan.dp);
    expect(few.activations).toBe(all.activations);
  });

  test('inputs of frozen maps without adapters are not kept', () => {
    const onQueries: Problem = { ...whole, workload: { ...whole.workload, adapters: { rank: 16, targets: ['qkv'] } } };
    const { plan } = evaluatePlan(adapted, { dp: 8 });
    const [few, all] = [stageMemory(onQueries, plan, 0), stageMemory(adapted, plan, 0)];
    const { hiddenSize, ffnHiddenSize, numLayers } = whole.model;
    const numTokens = whole.workload.seqLen * plan.microBatchSize;
    // the feed-forward part's input and its activation, 2 B each
    expect(all.activations - few.activations).toBe(2 * (hiddenSize + ffnHiddenSize) * numLayers * numTokens);
  });
});
