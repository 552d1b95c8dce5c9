import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateSchema, type MemoryPart, type TimePart } from '../schema/index.ts';
import { evaluatePlan } from './evaluate.ts';
import { fullestStage, stageMemory } from './memory/index.ts';
import { summarize } from './summary.ts';
import { StepModel } from './step/index.ts';
import { caseArbitrary, withChoices, type Case } from './testing/arbitraries.ts';
import { exampleIds, exampleOf } from './testing/catalog.ts';
import { exampleProblem, problemOf } from './testing/problems.ts';

const ROUNDING = 1e-9;
/**
 * How much slower a step may get from faster parts where sharding or offload crosses a link all step long. Ranks differ in
 * what they hide behind: the one that is slowest before need not be after, so the bound holds for each rank, not for the
 * slowest across both.
 */
const HIDING_SLACK = 0.01;
const hidesTraffic = ({ sharding, offload }: Case['plan']) =>
  sharding.zeroStage >= 2 || offload.optimizer > 0 || offload.activations > 0;
const settings = { numRuns: 150 };

function estimateOf({ problem, plan }: Pick<Case, 'problem' | 'plan'>) {
  const { estimate, violations } = evaluatePlan(problem, plan);
  if (estimate === null) throw new Error(violations.map((violation) => violation.message).join('; '));
  return estimate;
}

function expectSum(total: number, parts: readonly number[], where: string): void {
  const sum = parts.reduce((a, b) => a + b, 0);
  expect(Math.abs(sum - total), `${where}: ${sum} of ${total}`).toBeLessThanOrEqual(ROUNDING * Math.abs(total));
}

function checkTime(part: TimePart): void {
  expect(part.seconds).toBeGreaterThanOrEqual(0);
  expect(part.source).not.toBe('');
  if (part.children.length === 0) return;
  expectSum(
    part.seconds,
    part.children.map((child) => child.seconds),
    part.label,
  );
  part.children.forEach(checkTime);
}

function checkMemory(part: MemoryPart): void {
  expect(part.bytes).toBeGreaterThanOrEqual(0);
  expect(part.source).not.toBe('');
  if (part.children.length === 0) return;
  expectSum(
    part.bytes,
    part.children.map((child) => child.bytes),
    part.label,
  );
  part.children.forEach(checkMemory);
}

function everyNumber(value: unknown, visit: (number: number) => void): void {
  if (typeof value === 'number') visit(value);
  else if (typeof value === 'object' && value !== null)
    Object.values(value).forEach((inner) => everyNumber(inner, visit));
}

describe('an estimate of any valid plan', () => {
  test('is finite throughout and of the contract’s shape', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const estimate = estimateOf(one);
        everyNumber(estimate, (number) => expect(Number.isFinite(number)).toBe(true));
        expect(estimateSchema.parse(estimate)).toEqual(estimate);
      }),
      settings,
    );
  });

  test('has a time tree whose children sum to their parent, from stepSeconds down', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const { parts, stepSeconds } = estimateOf(one);
        expect(parts.seconds).toBe(stepSeconds);
        checkTime(parts);
      }),
      settings,
    );
  });

  test('has a memory tree whose children sum to their parent, from peakMemoryBytes down', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const { memoryParts, peakMemoryBytes } = estimateOf(one);
        expectSum(peakMemoryBytes, [memoryParts.bytes], 'peak');
        checkMemory(memoryParts);
      }),
      settings,
    );
  });

  test('has stages whose categories sum to their total, and the fullest is the peak', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const { memoryByStage, peakMemoryBytes, peakMemoryBytesByStage } = estimateOf(one);
        expect(memoryByStage).toHaveLength(one.plan.pp);
        for (const { stageIndex, totalBytes, ...categories } of memoryByStage)
          expectSum(totalBytes, Object.values(categories), `stage ${stageIndex}`);
        expect(peakMemoryBytesByStage).toEqual(memoryByStage.map((stage) => stage.totalBytes));
        expect(peakMemoryBytes).toBe(Math.max(...peakMemoryBytesByStage));
      }),
      settings,
    );
  });

  test('has a waterfall that adds up to stepSeconds and holds no gain among its losses', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const { waterfall, stepSeconds } = estimateOf(one);
        expectSum(
          stepSeconds,
          waterfall.map((step) => step.seconds),
          'waterfall',
        );
        expect(waterfall[0]?.kind).toBe('ideal');
        for (const { label, seconds, kind } of waterfall.slice(1)) {
          expect(kind).toBe('loss');
          expect(seconds, label).toBeGreaterThan(-ROUNDING * stepSeconds);
        }
      }),
      settings,
    );
  });

  test('has communications that expose no more than they take, and belong to groups that exist', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        for (const communication of estimateOf(one).communication) {
          if (communication.group !== 'host') expect(communication.groupSize).toBeGreaterThan(1);
          expect(communication.exposedSeconds).toBeLessThanOrEqual(communication.totalSeconds * (1 + ROUNDING));
          expect(communication.callsPerStep * communication.secondsPerCall).toBeCloseTo(communication.totalSeconds, 9);
        }
      }),
      settings,
    );
  });

  test('agrees with what a search keeps of the plan', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const { problem, plan } = one;
        const peak = fullestStage(problem, plan).totalBytes;
        const summary = summarize(problem, plan, new StepModel(problem).cost(plan), peak);
        const estimate = estimateOf(one);
        for (const key of ['stepSeconds', 'peakMemoryBytes', 'mfu', 'hfu', 'bubbleFraction', 'days', 'cost'] as const)
          expect(summary[key], key).toBe(estimate[key]);
        expect(summary.verdict).toBe(evaluatePlan(problem, plan).verdict);
      }),
      settings,
    );
  });

  test('keeps mfu ≤ hfu < 1, equal without recomputation', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const { mfu, hfu } = estimateOf(one);
        expect(mfu).toBeGreaterThan(0);
        expect(hfu).toBeLessThan(1);
        if (one.plan.recompute.mode === 'none') expect(hfu).toBe(mfu);
        // norms have no matmuls to repeat
        else if (one.plan.recompute.modules.includes('norms')) expect(hfu).toBeGreaterThanOrEqual(mfu);
        else expect(hfu).toBeGreaterThan(mfu);
      }),
      settings,
    );
  });
});

describe('fullestStage', () => {
  test('is the maximum over all stages', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        const all = Array.from({ length: plan.pp }, (_, index) => stageMemory(problem, plan, index).totalBytes);
        expect(fullestStage(problem, plan).totalBytes).toBe(Math.max(...all));
      }),
      { numRuns: 300 },
    );
  });
});

type Better = (one: Case) => Case | null;
const numMicroBatches = ({ problem, plan }: Case) => problem.workload.globalBatchSize / (plan.dp * plan.microBatchSize);

const faster: [string, Better][] = [
  ['more scale-up bandwidth', (one) => withChoices(one, { scaleUp: { bandwidthGBps: 900 } })],
  ['more scale-out bandwidth', (one) => withChoices(one, { scaleOut: { bandwidthGbps: 800 } })],
  ['less scale-out latency', (one) => withChoices(one, { scaleOut: { latencyUs: 1 } })],
  [
    'a higher dense peak',
    ({ problem, ...one }) => {
      const device = { ...problem.device, peakFlopsPerSecond: problem.device.peakFlopsPerSecond * 1.3 };
      return { ...one, problem: { ...problem, device } };
    },
  ],
  [
    'more memory bandwidth',
    ({ problem, ...one }) => {
      const device = { ...problem.device, memoryBytesPerSecond: problem.device.memoryBytesPerSecond * 1.3 };
      return { ...one, problem: { ...problem, device } };
    },
  ],
  ['a shorter sequence', (one) => withChoices(one, { seqLen: (one.choices.seqLen ?? 0) / 2 })],
  [
    'no recomputation',
    // what is not recomputed would have to cross the host link
    (one) =>
      one.plan.offload.activations > 0
        ? null
        : { ...one, plan: { ...one.plan, recompute: { mode: 'none', modules: [], layersPerStage: null } } },
  ],
];

const smaller: [string, Better][] = [
  [
    'smaller micro-batches',
    (one) => {
      const { plan } = one;
      const m = numMicroBatches(one) * 2;
      if (plan.microBatchSize % 2 !== 0 || (plan.vpp > 1 && m % plan.pp !== 0)) return null;
      return { ...one, plan: { ...plan, microBatchSize: plan.microBatchSize / 2 } };
    },
  ],
  ['a shorter sequence', (one) => withChoices(one, { seqLen: (one.choices.seqLen ?? 0) / 2 })],
  ['fewer words', (one) => withChoices(one, { model: { vocabSize: 500 } })],
  [
    'sequence parallelism',
    (one) =>
      one.plan.tp === 1 || one.problem.workload.seqLen % one.plan.tp !== 0
        ? null
        : { ...one, plan: { ...one.plan, sequenceParallel: true } },
  ],
  [
    'a sharded optimizer',
    (one) =>
      one.plan.sharding.zeroStage > 0
        ? null
        : { ...one, plan: { ...one.plan, sharding: { ...one.plan.sharding, zeroStage: 1 } } },
  ],
  [
    'expandable segments',
    (one) => ({ ...one, plan: { ...one.plan, runtime: { ...one.plan.runtime, expandableSegments: true } } }),
  ],
];

describe('every time opens into its formula', () => {
  const leavesOf = (part: TimePart): TimePart[] =>
    part.children.length === 0 ? [part] : part.children.flatMap(leavesOf);

  test('with the numbers that went in, whatever the plan', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        for (const leaf of leavesOf(estimateOf(one).parts)) {
          expect(leaf.formula, leaf.label).toBeTruthy();
          expect(leaf.inputs?.length, leaf.label).toBeGreaterThan(0);
          for (const { value, label } of leaf.inputs ?? [])
            expect(Number.isFinite(value), `${leaf.label}: ${label}`).toBe(true);
        }
      }),
      settings,
    );
  });

  test('calls times the seconds of one are the seconds of the part', () => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        for (const { label, seconds, inputs = [] } of leavesOf(estimateOf(one).parts)) {
          const valueOf = (name: string) => inputs.find((input) => input.label === name)?.value;
          const [calls, each] = [valueOf('calls'), valueOf('seconds of one')];
          if (calls !== undefined && each !== undefined) expect(seconds / (calls * each), label).toBeCloseTo(1, 9);
        }
      }),
      settings,
    );
  });
});

describe('monotone where physics says so', () => {
  test.each(faster)('%s is not slower', (_, improve) => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const better = improve(one);
        fc.pre(better !== null);
        const slack = hidesTraffic(better.plan) ? HIDING_SLACK : ROUNDING;
        expect(estimateOf(better).stepSeconds).toBeLessThanOrEqual(estimateOf(one).stepSeconds * (1 + slack));
      }),
      settings,
    );
  });

  test.each(smaller)('%s needs no more memory', (_, improve) => {
    fc.assert(
      fc.property(caseArbitrary, (one) => {
        const better = improve(one);
        fc.pre(better !== null);
        const [after, before] = [estimateOf(better), estimateOf(one)];
        expect(after.peakMemoryBytes).toBeLessThanOrEqual(before.peakMemoryBytes * (1 + ROUNDING));
      }),
      settings,
    );
  });

  test('recomputing more keeps fewer activations on every stage', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        const kept = (['none', 'selective', 'full'] as const).map((mode) => {
          const modules: 'core-attention'[] = mode === 'selective' ? ['core-attention'] : [];
          return stageMemory(problem, { ...plan, recompute: { mode, modules, layersPerStage: null } }, 0).activations;
        });
        expect(kept[1]).toBeLessThanOrEqual(kept[0]!);
        expect(kept[2]).toBeLessThanOrEqual(kept[1]!);
      }),
      settings,
    );
  });
});

describe('the three examples', () => {
  test.each(exampleIds)('%s: its published split is valid', (id) => {
    const { valid, violations } = evaluatePlan(exampleProblem(id), exampleOf(id).plan ?? {});
    expect(violations).toEqual([]);
    expect(valid).toBe(true);
  });
});

describe('fixes', () => {
  const tight = problemOf({
    model: { numLayers: 32, hiddenSize: 8192, ffnHiddenSize: 28_672, numHeads: 64, numKvHeads: 8 },
    numAccelerators: 64,
    globalBatchSize: 512,
    seqLen: 8192,
  });

  test('are single valid changes that save memory, the cheapest that fits first', () => {
    const { verdict, fixes, plan, estimate } = evaluatePlan(tight, { tp: 8, pp: 1, microBatchSize: 8 });
    expect(verdict).toBe('out-of-memory');
    expect(fixes.length).toBeGreaterThan(2);
    for (const fix of fixes) {
      expect(fix.savesBytes).toBeGreaterThan(0);
      const patched = structuredClone(plan) as unknown as Record<string, unknown>;
      for (const [path, value] of Object.entries(fix.patch)) {
        const keys = path.split('.');
        const last = keys.pop()!;
        keys.reduce((at, key) => at[key] as Record<string, unknown>, patched)[last] = value;
      }
      const after = evaluatePlan(tight, patched);
      expect(after.violations, fix.change).toEqual([]);
      expect(estimate!.peakMemoryBytes - after.estimate!.peakMemoryBytes).toBeCloseTo(fix.savesBytes, 0);
      expect(after.estimate!.stepSeconds - estimate!.stepSeconds).toBeCloseTo(fix.costsSeconds, 9);
      expect(after.verdict).toBe(fix.verdict);
    }
    const rank = { fits: 0, 'at-risk': 1, 'out-of-memory': 2 };
    const sorted = fixes.toSorted((a, b) => rank[a.verdict] - rank[b.verdict] || a.costsSeconds - b.costsSeconds);
    expect(fixes).toEqual(sorted);
    // one that costs less but does not help enough comes after those that do
    expect(fixes[0]!.costsSeconds).toBeGreaterThan(Math.min(...fixes.map((fix) => fix.costsSeconds)));
  });

  test('are not offered to a plan that fits', () => {
    const { verdict, fixes } = evaluatePlan(problemOf(), { tp: 2, pp: 2 });
    expect(verdict).toBe('fits');
    expect(fixes).toEqual([]);
  });
});
