import { describe, expect, test } from 'vitest';
import { planSchema, type PlanInput } from '../schema/index.ts';
import { completePlan, describePlan, planKey, valueAt } from './plan.ts';
import { stackYearOf } from './problem.ts';
import { planAt, spaceOf } from './search/space.ts';
import { problemOf, type Choices } from './testing/problems.ts';

describe('stackYearOf', () => {
  test.each([
    [null, 2025],
    ['2021', 2021],
    ['2021 (PTD-P)', 2021],
    ['2022-02', 2022],
    ['v2.6', 2021],
    ['v3.0.2', 2022],
    ['2.5', 2021],
    ['core 0.5', 2023],
    ['core 0.10', 2024],
    ['core 0.13', 2025],
    ['0.16', 2025],
    ['v0.8.0', 2024],
    ['Megatron-Core r0.8.0', 2024],
    ['core_v0.12.1', 2025],
    ['core_r0.5.0', 2023],
    ['NeMo container 24.03.01', 2025],
    ['something else', 2025],
  ])('%s → %d', (version, year) => {
    expect(stackYearOf(version)).toBe(year);
  });
});

describe('completePlan', () => {
  const complete = (input: PlanInput, choices: Choices = {}) => completePlan(problemOf(choices), input);

  test('gives every field of the contract', () => {
    expect(planSchema.parse(complete({}))).toEqual(complete({}));
  });

  test('keeps what is given, at any depth', () => {
    const input: PlanInput = {
      tp: 2,
      pp: 2,
      vpp: 2,
      microBatchSize: 4,
      sequenceParallel: false,
      recompute: { mode: 'full' },
      sharding: { zeroStage: 0 },
      overlap: { tp: true },
      runtime: { attentionKernel: 'unfused' },
    };
    expect(complete(input)).toMatchObject(input);
  });

  test.each<[string, string | null, object]>([
    [
      'before sequence parallelism',
      '2021',
      {
        sequenceParallel: false,
        sharding: { zeroStage: 0 },
        overlap: { gradReduce: false, paramGather: false, pipeline: false, tp: false },
        runtime: { attentionKernel: 'unfused', fusedCrossEntropy: false },
      },
    ],
    [
      'of 2022',
      '2022',
      { sequenceParallel: true, sharding: { zeroStage: 0 }, runtime: { attentionKernel: 'unfused' } },
    ],
    [
      'of today',
      null,
      {
        sequenceParallel: true,
        sharding: { zeroStage: 1, group: 'dp' },
        overlap: { gradReduce: true, paramGather: true, pipeline: true, tp: false },
        runtime: { attentionKernel: 'flash', fusedCrossEntropy: true },
      },
    ],
  ])('takes the defaults of a stack %s', (_, version, expected) => {
    expect(complete({ tp: 2 }, { version })).toMatchObject(expected);
  });

  test.each<[string, PlanInput, object]>([
    ['dp is what the others leave', { tp: 2, pp: 2 }, { dp: 2 }],
    ['dp is at least 1 where the others are too many', { tp: 8, pp: 4 }, { dp: 1 }],
    ['dp as given is kept, for a rule to judge', { tp: 2, dp: 3 }, { dp: 3 }],
    ['one chunk runs 1F1B', { pp: 2 }, { schedule: { name: '1f1b', groupSize: null } }],
    ['chunks run interleaved', { pp: 2, vpp: 2 }, { schedule: { name: 'interleaved-1f1b' } }],
    ['no sequence parallelism without tp', {}, { sequenceParallel: false }],
    [
      'selective means core attention',
      { recompute: { mode: 'selective' } },
      { recompute: { modules: ['core-attention'] } },
    ],
    ['full means no modules', { recompute: { mode: 'full' } }, { recompute: { modules: [], layersPerStage: null } }],
  ])('%s', (_, input, expected) => {
    expect(complete(input)).toMatchObject(expected);
  });
});

describe('planKey', () => {
  test.each<[string, Choices]>([
    ['a small problem', {}],
    ['balanced layouts', { model: { numLayers: 6 }, numAccelerators: 16 }],
    [
      'switches that are pinned open',
      {
        constraints: {
          pin: {
            'runtime.fusedCrossEntropy': [true, false],
            'runtime.expandableSegments': [true, false],
            'runtime.attentionKernel': ['flash', 'unfused'],
            'overlap.tp': [true, false],
            'overlap.gradReduce': [true, false],
            'overlap.paramGather': [true, false],
            'overlap.pipeline': [true, false],
            'sharding.group': ['dp', 'dp-cp'],
            'sharding.reshardAfterForward': [true, false],
            cp: [1, 2],
            cpMethod: ['ring', 'ulysses'],
            tp: [2],
            pp: [2],
            microBatchSize: [1],
          },
        },
      },
    ],
  ])('is different for different plans: %s', (_, choices) => {
    const problem = problemOf(choices);
    const { outer, templates } = spaceOf(problem);
    const keys = new Map<string, string>();
    for (const point of outer)
      for (const template of templates) {
        const plan = planAt(problem, template, point);
        const text = JSON.stringify(plan);
        const known = keys.get(planKey(plan));
        if (known !== undefined) expect(text).toBe(known);
        keys.set(planKey(plan), text);
      }
    expect(keys.size).toBe(outer.length * templates.length);
  });

  test('is the same for the same plan however it was given', () => {
    const problem = problemOf();
    const short = completePlan(problem, { tp: 2 });
    expect(planKey(completePlan(problem, short))).toBe(planKey(short));
  });
});

test('describePlan says the split in words', () => {
  const problem = problemOf({ numAccelerators: 16 });
  const input: PlanInput = { tp: 2, pp: 4, vpp: 2, microBatchSize: 2, recompute: { mode: 'full' } };
  expect(describePlan(completePlan(problem, input))).toBe(
    'TP 2 · PP 4 · DP 2, interleaved 1F1B 2, micro-batch 2, full recomputation',
  );
});

test.each([
  ['tp', 2],
  ['recompute.mode', 'none'],
  ['runtime.attentionKernel', 'flash'],
  ['no.such.path', undefined],
  ['tp.deeper', undefined],
])('valueAt(%s)', (path, value) => {
  expect(valueAt(completePlan(problemOf(), { tp: 2 }), path)).toBe(value);
});

describe('defaults in which frameworks differ', () => {
  const moe = {
    numExperts: 8,
    expertsPerToken: 2,
    expertFfnHiddenSize: 512,
    sharedExpertFfnHiddenSize: 0,
    sharedExpertGate: false,
    denseFirst: 0,
    everyN: 1,
    router: null,
  };

  test.each<[string, Choices, PlanInput, object]>([
    ['FSDP shards weights', { family: 'fsdp' }, {}, { sharding: { zeroStage: 3, reshardAfterForward: true } }],
    [
      'torchtitan keeps weights gathered in a pipeline',
      { family: 'fsdp' },
      { pp: 2 },
      { sharding: { reshardAfterForward: false } },
    ],
    [
      'DeepSpeed shards the optimizer, without sequence parallelism',
      { family: 'deepspeed' },
      { tp: 2 },
      { sharding: { zeroStage: 1 }, sequenceParallel: false },
    ],
    [
      'DeepSpeed deals layers out',
      { family: 'deepspeed', model: { numLayers: 7 } },
      { pp: 2 },
      { layout: 'Et*4|t*3L' },
    ],
    ['Megatron-LM does not', { model: { numLayers: 7 } }, { pp: 2 }, { layout: null }],
    ['Megatron-LM splits experts as it splits the rest', { model: { moe } }, { tp: 2 }, { etp: 2 }],
    ['torchtitan does not', { family: 'fsdp', model: { moe } }, { tp: 2 }, { etp: 1 }],
    ['a model without experts has none to split', {}, { tp: 2 }, { etp: 1 }],
  ])('%s', (_, choices, input, expected) => {
    expect(completePlan(problemOf(choices), input)).toMatchObject(expected);
  });
});
