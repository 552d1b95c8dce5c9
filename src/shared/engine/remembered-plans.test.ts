/** What is remembered between plans changes no figure: a problem that has costed others answers as one that has not. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MemoryCategory, Plan } from '../schema/index.ts';
import { figuresOf } from './evaluate.ts';
import { stageMemoryItems } from './memory/index.ts';
import type { Problem } from './problem.ts';
import { firstBrokenRule } from './rules/index.ts';
import { StepModel } from './step/index.ts';
import { caseArbitrary } from './testing/arbitraries.ts';

/** Numbers that agree to 1e-9, or values that are equal, at every path of both. */
function expectSame(one: unknown, other: unknown, path = ''): void {
  if (typeof one === 'number' && typeof other === 'number') {
    const tolerance = 1e-9 * Math.max(Math.abs(one), Math.abs(other));
    if (!(Object.is(one, other) || Math.abs(one - other) <= tolerance)) expect.fail(`${path}: ${one} is not ${other}`);
    return;
  }
  // an operator's explanation is made when it is read: its numbers are compared, not the closure
  if (typeof one === 'function' && typeof other === 'function') return;
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return expect(one, path).toEqual(other);
  expect(Object.keys(one), path).toEqual(Object.keys(other));
  for (const [key, value] of Object.entries(one))
    expectSame(value, (other as Record<string, unknown>)[key], `${path}.${key}`);
}

/** Valid plans that differ from a plan in one thing that something remembered may depend on. */
function neighboursOf(problem: Problem, plan: Plan): Plan[] {
  const modes = ['none', 'full'] as const;
  const neighbours: Plan[] = [
    { ...plan, sequenceParallel: !plan.sequenceParallel },
    { ...plan, microBatchSize: plan.microBatchSize * 2 },
    { ...plan, tp: plan.tp * 2, dp: plan.dp / 2 },
    { ...plan, cp: plan.cp * 2, dp: plan.dp / 2 },
    { ...plan, ep: plan.ep * 2 },
    { ...plan, rankOrder: 'tp-pp-dp' },
    { ...plan, overlap: { ...plan.overlap, tp: !plan.overlap.tp, expert: !plan.overlap.expert } },
    { ...plan, offload: { optimizer: 1, weights: 0, activations: 0.5 } },
    { ...plan, sharding: { ...plan.sharding, zeroStage: plan.sharding.zeroStage === 0 ? 1 : 0 } },
    { ...plan, runtime: { ...plan.runtime, attentionKernel: 'unfused', fusedCrossEntropy: false } },
    ...modes.map((mode) => ({ ...plan, recompute: { mode, modules: [], layersPerStage: null } })),
  ];
  return neighbours.filter((next) => firstBrokenRule(problem, next) === null);
}

test('figures of a plan do not depend on what was asked before', () => {
  fc.assert(
    fc.property(caseArbitrary, ({ problem, plan }) => {
      const fresh = structuredClone(problem);
      const alone = figuresOf(new StepModel(fresh), structuredClone(plan));
      const model = new StepModel(problem);
      for (const next of neighboursOf(problem, plan)) figuresOf(model, next);
      expectSame(figuresOf(model, plan), alone);
    }),
    { numRuns: 60 },
  );
});

test('a neighbour costed after a plan has its own figures', () => {
  fc.assert(
    fc.property(caseArbitrary, ({ problem, plan }) => {
      const model = new StepModel(problem);
      figuresOf(model, plan);
      for (const next of neighboursOf(problem, plan))
        expectSame(figuresOf(model, next), figuresOf(new StepModel(structuredClone(problem)), structuredClone(next)));
    }),
    { numRuns: 30 },
  );
});

test('memory in sums is that of the items listed, by category, on every stage', () => {
  const categories: MemoryCategory[] = ['weights', 'gradients', 'optimizer', 'activations', 'workspace'];
  fc.assert(
    fc.property(caseArbitrary, ({ problem, plan }) => {
      const { memoryByStage } = figuresOf(new StepModel(problem), plan);
      expect(memoryByStage).toHaveLength(plan.pp);
      memoryByStage.forEach((stage, index) => {
        const items = stageMemoryItems(problem, plan, index);
        for (const category of categories) {
          const listed = items.reduce((sum, item) => sum + (item.category === category ? item.bytes : 0), 0);
          expectSame(stage[category], listed, `stage ${index} ${category}`);
        }
      });
    }),
    { numRuns: 60 },
  );
});
