import { describe, expect, test } from 'vitest';
import { presets } from '../../engine/testing/catalog.ts';
import { acceleratorNamed } from './accelerators.ts';
import { frameworkOf } from './frameworks.ts';
import { expertLayersOf } from './golden.ts';
import { leastWorld, parseCasesText, readCase, readGolden } from './index.ts';
import { caseRowSchema } from './schema.ts';
import { offloadOf, precisionOf, recomputeOf, scheduleOf } from './plan.ts';

const { accelerators } = presets;

describe('words of records', () => {
  test.each<[string, string | null, string | null, string, string | null]>([
    ['megatron-core 0.16', null, 'core 0.16', 'megatron-lm', 'yes'],
    ['megatron-lm (old)', null, '2021', 'megatron-lm', 'yes'],
    ['megatron-lm', 'arXiv:2205.05198 fig. 1', '2022', 'megatron-lm', 'yes'],
    ['megatron-deepspeed', null, '2022', 'deepspeed', 'yes'],
    ['gpt-neox', null, '2022', 'deepspeed', 'yes'],
    ['deepspeed', 'hiyouga/LLaMA-Factory#7282', null, 'deepspeed', 'yes'],
    ['llm-foundry/composer (FSDP)', null, 'llm-foundry', 'fsdp', 'yes'],
    ['transformers tp_plan', null, null, 'fsdp', 'yes'],
    ['primus/megatron', null, null, 'megatron-lm', 'yes'],
    ['megatron-core', 'modelscope/ms-swift#8084', null, 'megatron-lm', null],
    ['vllm', null, null, 'serving', 'yes'],
    ['jax', null, null, 'other', 'yes'],
  ])('framework %s of %s', (name, source, version, family, followsTp) => {
    expect(frameworkOf(name, source)).toEqual({
      family,
      version,
      stack: name.startsWith('llm-foundry') ? 'llm-foundry' : null,
      etpFollowsTp: followsTp !== null,
    });
  });

  test.each<[string | null, object | null]>([
    ['none', { mode: 'none' }],
    ['full (activation checkpointing)', { mode: 'full', layersPerStage: null }],
    ['full/uniform', { mode: 'full', layersPerStage: null }],
    ['full block 5', { mode: 'full', layersPerStage: 5 }],
    ['selective', { mode: 'selective' }],
    ['selective(core attention)', { mode: 'selective', modules: ['core-attention'] }],
    ['selective: mlp+core_attn', { mode: 'selective', modules: ['core-attention', 'mlp'] }],
    ['layernorm+moe_act', { mode: 'selective', modules: ['moe-activation', 'norms'] }],
    ['mla_up_proj', { mode: 'selective', modules: ['mla-up-projection'] }],
    [null, null],
  ])('recomputation %s', (text, expected) => {
    expect(recomputeOf(text)).toEqual(expected);
  });

  test.each<[string | null, object | null]>([
    ['cpu', { optimizer: 1, weights: 1, activations: 0 }],
    ['CPU Adam', { optimizer: 1, weights: 0, activations: 0 }],
    ['cpu optimizer+params', { optimizer: 1, weights: 1, activations: 0 }],
    ['optimizer CPU offload 25 %', { optimizer: 0.25, weights: 0, activations: 0 }],
    ['paged 8-bit AdamW', { optimizer: 1, weights: 0, activations: 0 }],
    [null, null],
  ])('offload %s', (text, expected) => {
    expect(offloadOf(text)).toEqual(expected);
  });

  test.each([
    ['interleaved 1F1B', 'interleaved-1f1b'],
    ['1F1B', '1f1b'],
    ['ZB-2P', 'zb-h2'],
    ['ZB-V', 'zb-v'],
    ['ZB-H1', 'zb-h1'],
    ['zero-bubble', 'zb-h1'],
    ['v-half', 'v-half'],
    ['zbb', 'custom'],
  ])('schedule %s', (text, expected) => {
    expect(scheduleOf(text)).toBe(expected);
  });

  test.each([
    ['bf16 (Transformer Engine 2.11)', 'bf16'],
    ['FP8-MX', 'fp8'],
    ['float8 rowwise+compile', 'fp8'],
    ['NVFP4', 'fp4'],
    ['BF16/FP8 unspecified', 'bf16'],
    ['fp16 mixed', 'fp16'],
    ['amp_bf16', 'bf16'],
    [null, null],
  ])('precision %s', (text, expected) => {
    expect(precisionOf(text)).toBe(expected);
  });

  test.each([
    ['H100-SXM-80', 'h100-80gb-sxm'],
    ['A100-40', 'a100-40gb-sxm'],
    ['GB200', 'gb200-nvl72'],
    ['H100-96-500W', 'h100-96gb-hbm2e'],
    ['Abacus-1', undefined],
  ])('accelerator %s', (name, id) => {
    expect(acceleratorNamed(name, accelerators)?.id).toBe(id);
  });

  test.each<[string | null, number, (0 | 1)[] | null]>([
    ['([0]*1+[1]*3)', 4, [0, 1, 1, 1]],
    ['[0,1]*2', 4, [0, 1, 0, 1]],
    ['2', 4, [1, 0, 1, 0]],
    [null, 2, [1, 1]],
    ['([0]*1+[1]*9)', 4, null],
    ['__import__("os")', 4, null],
  ])('layers with experts %s', (text, numLayers, expected) => {
    expect(expertLayersOf(text, numLayers)?.map(Number) ?? null).toEqual(expected);
  });
});

describe('rows', () => {
  const row = (fields: object) => caseRowSchema.parse({ id: 'one', outcome: { kind: 'fits' }, ...fields });
  const file = parseCasesText(JSON.stringify({ hardware: {}, models: {}, cases: [] }));
  const read = (fields: object) =>
    readCase(row(fields), file, { presets: presets.models, accelerators, configText: () => null });

  test('what a row leaves out is not known, and divides by everything', () => {
    const { known, scenario, missing } = read({
      framework: 'megatron-core',
      parallel: { tp: 8 },
      model_overrides: { num_attention_heads: 52 },
    });
    expect([...known]).toEqual(['model.numHeads']);
    expect(scenario.model.numHeads).toBe(52);
    expect(scenario.cluster.numAccelerators).toBe(104); // the fewest that 8 and 52 divide
    expect(missing).toContain('the layers of the model');
  });

  test('micro-batches follow from batch, dp and their size; torchtitan cuts a rank’s batch with a pipeline', () => {
    const stated = read({ gpus: 8, parallel: { tp: 2, pp: 2 }, batch: { mbs: 2, gbs: 16 }, framework: 'megatron-lm' });
    expect(stated.known.has('plan.numMicroBatches')).toBe(true);
    const titan = read({ gpus: 8, parallel: { pp: 4, fsdp: 2 }, batch: { mbs: 8, gbs: 16 }, framework: 'torchtitan' });
    expect(titan.plan.microBatchSize).toBe(1);
    expect(titan.scenario.job.globalBatchSize).toBe(16);
  });

  test.each([
    [{ tp: 4, pp: 1, cp: 1, ep: 8, etp: 1 }, 4, 8],
    [{ tp: 2, pp: 1, cp: 4, ep: 8, etp: 1 }, 2, 8],
    [{ tp: 2, pp: 2, cp: 1, ep: 8, etp: 1 }, 2, 16],
    // an unset expert tensor parallelism is tp: NVIDIA/Megatron-LM arguments.py
    [{ tp: 2, pp: 8, cp: 1, ep: 8, etp: null }, 2, 128],
  ])('the fewest accelerators of %j', (degrees, etp, expected) => {
    expect(leastWorld({ ...degrees, vpp: 1, dp: null }, etp)).toBe(expected);
  });

  test('a model that only has a number of parameters gets usual layers, told as assumed', () => {
    const { scenario, assumed, model } = read({
      gpus: 8,
      parallel: { tp: 8 },
      model_overrides: { nominal_params: 13e9 },
    });
    expect(model.model).toBeNull();
    expect(scenario.model).toMatchObject({ numLayers: 40, hiddenSize: 5120 });
    expect(assumed[0]).toMatch(/40 of width 5120/);
  });
});

describe('runs by their flags', () => {
  const golden = (args: object, gpus: number | null = 8) =>
    readGolden(
      {
        id: 'gpt/one_release/h100',
        gpus,
        hardware: 'H100-SXM-80',
        parallel: {},
        outcome: { kind: 'fits' },
        args: { ...base, ...args },
      },
      accelerators,
      [{ idContains: 'one_release', numAccelerators: 128 }],
    );
  const base = {
    '--hidden-size': 512,
    '--num-layers': 12,
    '--num-attention-heads': 8,
    '--seq-length': 1024,
    '--max-position-embeddings': 1024,
    '--micro-batch-size': 4,
    '--global-batch-size': 32,
    '--bf16': true,
  };
  const readingOf = (args: object, gpus?: number | null) => {
    const reading = golden(args, gpus);
    if ('skipped' in reading) throw new Error(reading.skipped);
    return reading;
  };

  test('defaults are Megatron’s', () => {
    const { scenario, plan } = readingOf({});
    expect(scenario.model).toMatchObject({
      ffnHiddenSize: 2048,
      numKvHeads: 8,
      tiedEmbeddings: true,
      vocabSize: 50_257,
      qkvBias: true,
    });
    expect(plan).toMatchObject({ tp: 1, sharding: { zeroStage: 0 }, recompute: { mode: 'none' } });
  });

  test.each<[string, object, object]>([
    [
      'layers per virtual stage',
      { '--pipeline-model-parallel-size': 4, '--num-layers-per-virtual-pipeline-stage': 1 },
      { pp: 4, vpp: 3 },
    ],
    [
      'a layout',
      {
        '--num-layers': 14,
        '--pipeline-model-parallel-size': 4,
        '--pipeline-model-parallel-layout': 'Et*2|(tt|)*5t|tmL',
      },
      { vpp: 2, layout: 'Et*2|(tt|)*5t|tmL' },
    ],
    [
      'layers of the ends',
      {
        '--pipeline-model-parallel-size': 4,
        '--decoder-first-pipeline-num-layers': 2,
        '--decoder-last-pipeline-num-layers': 2,
      },
      { layout: 'Ett|tttt|tttt|ttL' },
    ],
    [
      'ends counted as layers',
      {
        '--num-layers': 6,
        '--pipeline-model-parallel-size': 4,
        '--account-for-embedding-in-pipeline-split': true,
        '--account-for-loss-in-pipeline-split': true,
      },
      { layout: 'Et|tt|tt|tL' },
    ],
    [
      'experts',
      { '--num-experts': 8, '--tensor-model-parallel-size': 2, '--sequence-parallel': true },
      { tp: 2, etp: 2, sequenceParallel: true },
    ],
  ])('%s', (_, args, plan) => {
    expect(readingOf(args).plan).toMatchObject(plan);
  });

  test('accelerators as stated, as the file infers, or the fewest of the split', () => {
    expect(readingOf({}).scenario.cluster.numAccelerators).toBe(8);
    expect(readingOf({}, null)).toMatchObject({ isWorldKnown: true, scenario: { cluster: { numAccelerators: 128 } } });
  });
});
