import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Plan, PlanInput, Violation } from '../../schema/index.ts';
import { evaluatePlan } from '../evaluate.ts';
import { completePlan } from '../plan.ts';
import type { Problem } from '../problem.ts';
import { firstBrokenRule, rules, violationsOf } from './index.ts';
import { frameworkRules } from './frameworks.ts';
import { choicesArbitrary } from '../testing/arbitraries.ts';
import { problemOf, type Choices } from '../testing/problems.ts';

const moe = {
  numExperts: 8,
  expertsPerToken: 2,
  expertFfnHiddenSize: 1024,
  sharedExpertFfnHiddenSize: 0,
  sharedExpertGate: false,
  denseFirst: 0,
  everyN: 1,
  router: null,
};
const hybrid = {
  layerKinds: {
    mamba: {
      mixer: {
        type: 'mamba2' as const,
        numHeads: 48,
        headDim: 64,
        stateSize: 128,
        numGroups: 6,
        convKernel: 4,
        convBias: true,
        projectionBias: false,
      },
      ffn: { type: 'none' as const },
      norms: 1,
      parallel: false,
      otherParameters: 0,
    },
  },
};

/** One plan per rule that breaks it and nothing else, where that is possible; the message names the numbers. */
const broken: [rule: string, path: string, choices: Choices, input: PlanInput, says: RegExp][] = [
  ['world-size', 'dp', {}, { tp: 2, dp: 2 }, /2·1·1·2 = 4, but the cluster has 8/],
  [
    'heads-divide-tp',
    'tp',
    { model: { numHeads: 12, numKvHeads: 8, hiddenSize: 1536 } },
    { tp: 8 },
    /12 attention heads .* tp = 8/,
  ],

  ['ffn-divides-tp', 'tp', { model: { ffnHiddenSize: 4098 } }, { tp: 4 }, /FFN width 4098 .* tp = 4/],
  ['sequence-divides-tp', 'tp', { seqLen: 1022 }, { tp: 4 }, /the 1022 tokens of a rank do not divide over tp = 4/],
  ['sequence-parallel-needs-tp', 'sequenceParallel', {}, { sequenceParallel: true }, /needs tp above 1/],
  ['layers-divide-pp', 'pp', { model: { numLayers: 7 } }, { pp: 4 }, /7 layers .* pp = 4: 3 would be lost/],
  ['layers-divide-vpp', 'vpp', {}, { pp: 2, vpp: 3 }, /the 4 layers of a rank do not divide over vpp = 3/],
  ['layout-fits', 'layout', {}, { pp: 2, layout: 'Et*3|t*4L' }, /hold 8 layers .* pp·vpp = 2 stages/],
  ['interleaving-needs-pipeline', 'vpp', {}, { vpp: 2 }, /vpp = 2 needs a pipeline/],
  [
    'schedule-fits-vpp',
    'schedule.name',
    {},
    { pp: 2, vpp: 2, schedule: { name: '1f1b' } },
    /one chunk per rank, but vpp = 2/,
  ],
  ['schedule-fits-vpp', 'schedule.name', {}, { pp: 2, schedule: { name: 'interleaved-1f1b' } }, /needs vpp above 1/],
  ['batch-divides', 'microBatchSize', {}, { microBatchSize: 3 }, /global batch of 16 .* dp·micro-batch = 8·3/],
  [
    'interleaving-divides-batch',
    'microBatchSize',
    { globalBatchSize: 12 },
    { pp: 2, vpp: 2, dp: 4 },
    /the 3 micro-batches to be a multiple of pp = 2/,
  ],
  [
    'interleaving-divides-batch',
    'microBatchSize',
    { globalBatchSize: 20 },
    { pp: 2, dp: 4, schedule: { name: 'dualpipe' } },
    /the 5 micro-batches to be a multiple of pp = 2/,
  ],
  [
    'schedule-needs-micro-batches',
    'microBatchSize',
    { globalBatchSize: 8 },
    { pp: 2, dp: 4, schedule: { name: 'zb-h2' } },
    /at least 3 micro-batches, but there are 2/,
  ],
  [
    'schedule-needs-even-pp',
    'pp',
    { model: { numLayers: 9 }, numAccelerators: 9, globalBatchSize: 18 },
    { pp: 3, schedule: { name: 'dualpipe' } },
    /pp = 3 is odd/,
  ],
  [
    'schedule-fits-vpp',
    'schedule.name',
    {},
    { pp: 2, vpp: 1, schedule: { name: 'zb-v' } },
    /two chunks per rank, but vpp = 1/,
  ],
  ['not-modelled', 'schedule.name', {}, { pp: 2, schedule: { name: 'custom' } }, /the schedule custom/],
  ['ep-needs-experts', 'ep', {}, { ep: 2 }, /the model has no experts/],
  ['ep-needs-experts', 'etp', {}, { etp: 2 }, /the model has no experts/],
  [
    'experts-divide-ep',
    'ep',
    { model: { moe: { ...moe, numExperts: 12 } } },
    { ep: 8 },
    /12 experts do not divide over ep = 8/,
  ],
  [
    'expert-width-divides-etp',
    'etp',
    { model: { moe: { ...moe, expertFfnHiddenSize: 1023 } } },
    { etp: 2 },
    /the expert width 1023 does not divide over etp = 2/,
  ],
  ['expert-mesh', 'ep', { model: { moe } }, { ep: 8, etp: 2 }, /ep·etp = 8·2 does not divide the tp·cp·dp = 8/],
  [
    'experts-need-sequence-parallel',
    'sequenceParallel',
    { model: { moe } },
    { tp: 2, ep: 2, sequenceParallel: false },
    /need sequence parallelism/,
  ],
  [
    'sequence-divides-cp',
    'cp',
    { seqLen: 1026 },
    { cp: 2 },
    /1026 tokens of a sequence do not divide into the 4 equal parts that cp = 2/,
  ],
  [
    'heads-divide-cp',
    'cp',
    { model: { numHeads: 4, numKvHeads: 4, headDim: 256 } },
    { cp: 8, cpMethod: 'ulysses' },
    /4 heads of a tp rank .* cp = 8/,
  ],
  ['groups-divide-tp', 'tp', { model: hybrid }, { tp: 8 }, /6 Mamba groups do not divide over tp = 8/],
  [
    'sharding-group-divides',
    'sharding.group',
    {},
    { sharding: { zeroStage: 1, group: { size: 3 } } },
    /group of 3 does not divide the dp·cp = 8/,
  ],
  [
    'recompute-layers-fit',
    'recompute.layersPerStage',
    {},
    { recompute: { mode: 'full', layersPerStage: 9 } },
    /layersPerStage = 9, but a stage has 8 layers/,
  ],
  ['rank-order', 'rankOrder', {}, { rankOrder: 'dp-dp' }, /must name tp, cp, ep, dp and pp once each/],
  [
    'schedule-group-size',
    'schedule.groupSize',
    {},
    { pp: 4, vpp: 2, schedule: { groupSize: 2 } },
    /of 2 is below pp = 4/,
  ],
  [
    'schedule-group-size',
    'schedule.groupSize',
    {},
    { pp: 2, schedule: { groupSize: 2 } },
    /1F1B has no micro-batch group/,
  ],
];

function violations(choices: Choices, input: PlanInput): { problem: Problem; plan: Plan; found: Violation[] } {
  const problem = problemOf(choices);
  const plan = completePlan(problem, input);
  return { problem, plan, found: violationsOf(problem, plan) };
}

const named = (found: readonly Violation[]) => found.map(({ rule, path }) => `${rule} ${path}`);

describe('each rule refuses its fault and nothing else', () => {
  test.each(broken)('%s %s', (rule, path, choices, input, says) => {
    const { problem, plan, found } = violations(choices, input);
    expect(named(found)).toEqual([`${rule} ${path}`]);
    expect(found[0]?.message).toMatch(says);
    expect(firstBrokenRule(problem, plan)).toBe(rule);
  });

  test('degrees-divide-cluster comes with world-size, which then cannot hold either', () => {
    const { found } = violations({ numAccelerators: 24 }, { tp: 1, pp: 5 });
    expect(named(found)).toEqual(
      expect.arrayContaining(['degrees-divide-cluster pp', 'world-size dp', 'layers-divide-pp pp']),
    );
    expect(found[0]?.message).toContain('1·5·1 = 5 does not divide the 24 accelerators');
  });

  test('every rule that is not of a framework is in the table', () => {
    const covered = new Set(['degrees-divide-cluster pp', ...broken.map(([rule, path]) => `${rule} ${path}`)]);
    const own = rules.filter((rule) => !frameworkRules.includes(rule));
    expect(own.map(({ id, path }) => `${id} ${path}`).filter((rule) => !covered.has(rule))).toEqual([]);
  });
});

describe('a plan that breaks several rules', () => {
  test('shows all of them at once', () => {
    const choices: Choices = {
      model: { numHeads: 12, numKvHeads: 12, hiddenSize: 1536, numLayers: 7 },
      numAccelerators: 64,
    };
    const { found } = violations(choices, { tp: 8, pp: 4, ep: 2, microBatchSize: 3, rankOrder: 'dp-up' });
    expect(named(found).sort()).toEqual(
      [
        'heads-divide-tp tp',
        'kv-heads-divide-tp tp',
        'layers-divide-pp pp',
        'batch-divides microBatchSize',
        'ep-needs-experts ep',
        'rank-order rankOrder',
      ].sort(),
    );
  });

  test('has no estimate and no verdict, but a valid plan near it', () => {
    const { valid, estimate, verdict, nearestPlan, fixes } = evaluatePlan(problemOf(), { tp: 3, pp: 3 });
    expect({ valid, estimate, verdict, fixes }).toEqual({ valid: false, estimate: null, verdict: null, fixes: [] });
    expect(nearestPlan).not.toBeNull();
  });
});

/** What people reported: frameworks ran it although layers were lost, or refused without saying what would be legal. */
describe('configurations people were caught by', () => {
  const layered = (numLayers: number, numAccelerators: number): Choices => ({
    model: { numLayers },
    numAccelerators,
    globalBatchSize: numAccelerators,
  });

  test.each<[string, Choices, PlanInput, string, unknown[], unknown]>([
    ['80 layers, pp 16, vpp 2 ran with 64', layered(80, 16), { pp: 16, vpp: 2 }, 'layers-divide-vpp', [1, 5], 1],
    ['40 layers, pp 16 ran with 32', layered(40, 16), { pp: 16 }, 'layers-divide-pp', [1, 2, 4, 8], 8],
    ['30 layers, pp 4 ran with 28', layered(30, 4), { pp: 4, layout: null }, 'layers-divide-pp', [1, 2], 2],
    ['46 layers, pp 4', layered(46, 4), { pp: 4 }, 'layers-divide-pp', [1, 2], 2],
    [
      '40 layers, pp 2, vpp 12: nearest is 10',
      layered(40, 2),
      { pp: 2, vpp: 12 },
      'layers-divide-vpp',
      [1, 2, 4, 5, 10, 20],
      10,
    ],
    [
      '28 heads, tp 8',
      { model: { numHeads: 28, numKvHeads: 28, hiddenSize: 3584, ffnHiddenSize: 18_928 }, numAccelerators: 56 },
      { tp: 8 },
      'heads-divide-tp',
      [1, 2, 4, 7],
      7,
    ],
    [
      '2 KV heads, tp 4',
      { model: { numKvHeads: 2 }, version: 'core 0.15' },
      { tp: 4 },
      'kv-heads-divide-tp',
      [1, 2],
      2,
    ],
    [
      '256 sequences, dp 18',
      { globalBatchSize: 256, numAccelerators: 18 },
      { microBatchSize: 2 },
      'batch-divides',
      [],
      null,
    ],
    [
      '3 micro-batches for 6 interleaved stages',
      { model: { numLayers: 12 }, numAccelerators: 6, globalBatchSize: 3 },
      { pp: 6, vpp: 2 },
      'interleaving-divides-batch',
      [],
      null,
    ],
  ])('%s', (_, choices, input, rule, legal, nearest) => {
    const violation = violations(choices, input).found.find((one) => one.rule === rule);
    expect(violation).toMatchObject({ rule, legal, nearest });
  });

  test('a layout that would hold every layer is named', () => {
    const { found } = violations(layered(30, 16), { pp: 16 });
    expect(found[0]?.message).toBe(
      '30 layers do not divide over pp = 16: 14 would be lost; the layout Et|(t*2|)*14tL would hold them all',
    );
  });
});

describe('legal values and nearest plans', () => {
  /** The plan with a violation's legal value in its place, as a form or the command line would set it. */
  function withLegal(plan: Plan, path: string, value: Violation['legal'][number]): PlanInput {
    const [head = '', rest] = path.split('.', 2);
    const own = (plan as unknown as Record<string, object>)[head] ?? {};
    if (path === 'layout') return { ...plan, layout: value === 'null' ? null : String(value) };
    if (path === 'offload') return { ...plan, offload: { optimizer: 0, weights: 0, activations: 0 } };
    if (path === 'recompute.modules') return { ...plan, recompute: { ...plan.recompute, modules: ['core-attention'] } };
    const set = value === 'null' ? null : value;
    return rest === undefined ? { ...plan, [head]: set } : { ...plan, [head]: { ...own, [rest]: set } };
  }

  const wild = choicesArbitrary.chain((choices) =>
    fc
      .record({
        tp: fc.integer({ min: 1, max: 9 }),
        pp: fc.integer({ min: 1, max: 9 }),
        vpp: fc.integer({ min: 1, max: 3 }),
        dp: fc.integer({ min: 1, max: 9 }),
        cp: fc.constantFrom(1, 1, 2),
        microBatchSize: fc.integer({ min: 1, max: 9 }),
        sequenceParallel: fc.boolean(),
        schedule: fc.record({ name: fc.constantFrom('1f1b' as const, 'interleaved-1f1b' as const, 'zb-h1' as const) }),
        layout: fc.constantFrom(null, null, 'Et*3|t*3L', 'EL'),
        sharding: fc.record({ zeroStage: fc.constantFrom(0 as const, 1 as const, 3 as const) }),
      })
      .map((input): [Choices, PlanInput] => [choices, input]),
  );

  test('every legal value indeed passes its rule, and nearest is one of them', () => {
    fc.assert(
      fc.property(wild, ([choices, input]) => {
        const { problem, plan, found } = violations(choices, input);
        for (const { rule, path, legal, nearest } of found) {
          if (nearest !== null) expect(legal).toContain(nearest);
          else expect(legal).toEqual([]);
          for (const value of legal.slice(0, 6)) {
            const after = violationsOf(problem, completePlan(problem, withLegal(plan, path, value)));
            expect(named(after)).not.toContain(`${rule} ${path}`);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test('the nearest plan is valid, and a valid plan breaks no rule', () => {
    fc.assert(
      fc.property(wild, ([choices, input]) => {
        const problem = problemOf(choices);
        const { valid, violations: found, nearestPlan, estimate } = evaluatePlan(problem, input);
        expect(valid).toBe(found.length === 0);
        expect(valid).toBe(estimate !== null);
        if (!valid && nearestPlan !== null) expect(violationsOf(problem, nearestPlan)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  test.each<[string, Choices, PlanInput, object]>([
    ['tp for the heads', { model: { numKvHeads: 2 }, version: 'core 0.15' }, { tp: 4 }, { tp: 2, pp: 1, dp: 4 }],
    ['a balanced layout for the layers', { model: { numLayers: 6 } }, { pp: 4 }, { pp: 4, layout: 'Et|(t*2|)*2tL' }],
    ['no chunks without a pipeline', {}, { vpp: 2 }, { vpp: 1, schedule: { name: '1f1b' } }],
    ['micro-batches that divide', {}, { microBatchSize: 3 }, { microBatchSize: 2 }],
    ['a schedule that is planned', {}, { pp: 2, schedule: { name: 'custom' } }, { pp: 2, schedule: { name: '1f1b' } }],
    ['a smaller cp', { seqLen: 1028 }, { cp: 4 }, { cp: 2, tp: 1, dp: 4 }],
    ['no ep', {}, { ep: 2, tp: 2 }, { ep: 1, tp: 2, dp: 4 }],
  ])('the nearest plan has %s', (_, choices, input, expected) => {
    expect(evaluatePlan(problemOf(choices), input).nearestPlan).toMatchObject(expected);
  });

  test('a job that no split divides has no nearest plan', () => {
    const problem = problemOf({
      numAccelerators: 24,
      globalBatchSize: 5,
      model: { numLayers: 7, numHeads: 5, numKvHeads: 5 },
    });
    expect(evaluatePlan(problem, { tp: 8 }).nearestPlan).toBeNull();
  });
});
