import { describe, expect, test } from 'vitest';
import type { PlanInput } from '../../schema/index.ts';
import { completePlan } from '../plan.ts';
import { brokenRules, firstBrokenRule } from './index.ts';
import { problemOf, type Choices } from '../testing/problems.ts';
import { frameworkRules } from './frameworks.ts';
import type { RuleFamily } from './rule.ts';

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

function asked(family: RuleFamily, choices: Choices, input: PlanInput) {
  const base = problemOf(choices);
  const problem = { ...base, framework: { ...base.framework, family } };
  const plan = completePlan(problem, input);
  // a layout that is named stays, "none" included: completing would fill the framework's own in
  return { problem, plan: input.layout === undefined ? plan : { ...plan, layout: input.layout } };
}

function broken(family: RuleFamily, choices: Choices, input: PlanInput) {
  const { problem, plan } = asked(family, choices, input);
  return brokenRules(problem, plan).filter(({ violation }) => violation.rule !== 'not-modelled');
}

type Row = [rule: string, path: string, family: RuleFamily, choices: Choices, input: PlanInput, says: RegExp];

/** One plan per rule that breaks it; the message names the numbers. */
const table: Row[] = [
  [
    'kv-heads-divide-tp',
    'tp',
    'megatron-lm',
    { model: { numKvHeads: 2 }, version: 'core 0.15' },
    { tp: 4 },
    /only from 0\.16 on/,
  ],
  ['stages-need-layers', 'pp', 'fsdp', { model: { numLayers: 4 } }, { pp: 8 }, /8 stages, but only 4 layers/],
  [
    'layers-need-layout',
    'layout',
    'fsdp',
    { model: { numLayers: 7 } },
    { pp: 2, layout: null },
    /7 layers do not divide over pp·vpp = 2/,
  ],
  [
    'fsdp-excludes-pipeline',
    'sharding.zeroStage',
    'megatron-lm',
    {},
    { pp: 2, sharding: { zeroStage: 3 } },
    /but pp = 2/,
  ],
  [
    'interleaving-needs-overlap',
    'overlap.pipeline',
    'megatron-lm',
    {},
    { pp: 2, vpp: 2, overlap: { pipeline: false } },
    /pp = 2 needs overlapped sends/,
  ],
  [
    'expert-overlap-needs-interleaving',
    'overlap.expert',
    'megatron-lm',
    { model: { moe } },
    { pp: 2, overlap: { expert: true } },
    /pp = 2 needs interleaving/,
  ],
  [
    'context-parallel-needs-fused-attention',
    'runtime.attentionKernel',
    'megatron-lm',
    {},
    { cp: 2, runtime: { attentionKernel: 'unfused' } },
    /cp = 2 needs flash/,
  ],
  [
    'recompute-modules-exist',
    'recompute.modules',
    'megatron-lm',
    {},
    { recompute: { mode: 'selective', modules: ['moe'] } },
    /names moe, but the model has no experts/,
  ],
  [
    'activation-offload-alone',
    'offload.activations',
    'megatron-lm',
    {},
    { pp: 2, offload: { activations: 1 }, recompute: { mode: 'full' } },
    /a pipeline \(pp = 2\) and recomputation/,
  ],
  [
    'micro-batches-fill-pipeline',
    'microBatchSize',
    'fsdp',
    { globalBatchSize: 4 },
    { pp: 4, dp: 2 },
    /2 micro-batches are fewer than the pp = 4/,
  ],
  [
    'zero-excludes-pipeline',
    'sharding.zeroStage',
    'deepspeed',
    {},
    { pp: 2, sharding: { zeroStage: 2 } },
    /not 2 with pp = 2/,
  ],
  ['pipeline-engine-1f1b', 'vpp', 'deepspeed', {}, { pp: 2, vpp: 2 }, /vpp = 2/],
  ['ep-divides-dp', 'ep', 'deepspeed', { model: { moe } }, { tp: 2, ep: 8 }, /ep = 8 does not divide the dp = 4/],
  [
    'offload-needs-sharding',
    'offload.weights',
    'deepspeed',
    {},
    { offload: { weights: 1 }, sharding: { zeroStage: 2 } },
    /only with ZeRO stage 3, not 2/,
  ],
  [
    'heads-divide-tp',
    'tp',
    'serving',
    { model: { numHeads: 12, hiddenSize: 1536, numKvHeads: 4 } },
    { tp: 8 },
    /12 attention heads .* tp = 8/,
  ],
  [
    'experts-divide-ep',
    'ep',
    'serving',
    { model: { moe: { ...moe, numExperts: 256 } } },
    { tp: 1, ep: 3 },
    /2 redundant ones would fill them up to 258/,
  ],
  [
    'pipeline-balance',
    'layout',
    'serving',
    { model: { numLayers: 12 } },
    { pp: 2, layout: 'Et*4|t*8L' },
    /4, 8 layers: the one with 8 \(an even split gives 6\) holds 33 %/,
  ],
];

describe('rules of frameworks', () => {
  test.each(table)('%s %s (%s)', (rule, path, family, choices, input, says) => {
    const found = broken(family, choices, input).find(
      ({ violation }) => violation.rule === rule && violation.path === path,
    );
    expect(found?.violation.message).toMatch(says);
    const { problem, plan } = asked(family, choices, input);
    expect(firstBrokenRule(problem, plan)).not.toBeNull();
  });

  test('every rule of a framework is in the table', () => {
    const covered = new Set(table.map(([rule, path]) => `${rule} ${path}`));
    expect(frameworkRules.map(({ id, path }) => `${id} ${path}`).filter((rule) => !covered.has(rule))).toEqual([]);
  });

  test.each<[string, RuleFamily, Choices, PlanInput]>([
    [
      'copies of key/value heads from Megatron-Core 0.16 on',
      'megatron-lm',
      { model: { numKvHeads: 2 }, version: 'core 0.16' },
      { tp: 4 },
    ],
    ['copies of key/value heads in inference', 'serving', { model: { numKvHeads: 2 } }, { tp: 4 }],
    ['uneven layers in torchtitan', 'fsdp', { model: { numLayers: 7 } }, { pp: 2, sharding: { zeroStage: 1 } }],
    ['uneven layers in DeepSpeed', 'deepspeed', { model: { numLayers: 7 } }, { pp: 2 }],
    ['ZeRO-3 with a pipeline in torchtitan', 'fsdp', {}, { pp: 2, dp: 4 }],
  ])('%s are allowed', (_, family, choices, input) => {
    expect(broken(family, choices, input)).toEqual([]);
  });

  test('key/value heads that ranks cannot share evenly are refused everywhere', () => {
    const model = { numHeads: 40, numKvHeads: 10, hiddenSize: 5120 };
    for (const family of ['megatron-lm', 'fsdp', 'deepspeed', 'serving'] as const)
      expect(broken(family, { model }, { tp: 8 }).map(({ violation }) => violation.rule)).toContain(
        'kv-heads-divide-tp',
      );
  });

  test.each<[string, RuleFamily, Choices, PlanInput, string]>([
    [
      'an old Megatron-LM drops layers',
      'megatron-lm',
      { model: { numLayers: 40 }, numAccelerators: 16, version: '2021' },
      { pp: 16 },
      'loses-layers',
    ],
    ['a new one refuses', 'megatron-lm', { model: { numLayers: 40 }, numAccelerators: 16 }, { pp: 16 }, 'refused'],
    ['torchtitan hangs', 'fsdp', { globalBatchSize: 4 }, { pp: 4, dp: 2 }, 'hangs'],
  ])('%s', (_, family, choices, input, consequence) => {
    expect(broken(family, choices, input).map((one) => one.consequence)).toContain(consequence);
  });

  test('a rule is not asked where what it looks at is unknown', () => {
    const { problem, plan } = asked('megatron-lm', { model: { numLayers: 7 } }, { pp: 2 });
    expect(brokenRules(problem, plan, new Set())).toEqual([]);
    const known = brokenRules(problem, plan, new Set(['model.numLayers']));
    expect(known.map(({ violation }) => violation.rule)).toEqual(['layers-divide-pp']);
  });
});
