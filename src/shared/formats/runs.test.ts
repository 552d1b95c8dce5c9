import { describe, expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { firstLightText, presets } from '../engine/testing/catalog.ts';
import { parseScenarioValue, resolveScenario, type Run } from '../schema/index.ts';
import { parseRunsText, readRun, type RunCase } from './runs.ts';

/** A row that states everything that is needed and nothing more. */
const row = {
  id: 'row-1',
  framework: 'Megatron-LM',
  framework_version: 'core 0.10',
  model: {
    name: 'm',
    layers: 32,
    hidden: 4096,
    heads: 32,
    kv_heads: 8,
    head_dim: 128,
    ffn: 14_336,
    gated: true,
    vocab: 128_256,
    seq: 8192,
    tied_embeddings: false,
  },
  cluster: { gpu: 'H100-80GB', gpus_per_node: 8, total_gpus: 64, inter_node_gbps_per_gpu: 400 },
  parallel: {
    tp: 4,
    pp: 2,
    dp: 8,
    vp: 2,
    sp: true,
    mbs: 1,
    gbs: 128,
    recompute: 'none',
    precision: 'bf16',
    dist_opt: true,
  },
  measured: { step_s: 2 },
};

/** The row with the values at dotted paths replaced. */
function changed(patch: Record<string, unknown>): Run {
  const value = structuredClone(row) as Record<string, unknown>;
  for (const [path, replacement] of Object.entries(patch)) {
    const keys = path.split('.');
    const last = keys.pop()!;
    keys.reduce((at, key) => at[key] as Record<string, unknown>, value)[last] = replacement;
  }
  return parseRunsText(JSON.stringify([value]))[0]!;
}

function read(patch: Record<string, unknown> = {}): RunCase {
  const reading = readRun(changed(patch), presets);
  if ('skipped' in reading) throw new Error(`skipped: ${reading.skipped}`);
  return reading.case;
}

describe('parseRunsText', () => {
  test.each([
    ['a list', [row]],
    ['an object with rows', { rows: [row], about: 'anything' }],
  ])('takes %s', (_, value) => {
    expect(parseRunsText(JSON.stringify(value)).map(({ id }) => id)).toEqual(['row-1']);
  });

  test('keeps keys that it does not know', () => {
    expect(parseRunsText(JSON.stringify([{ ...row, recipe: { a: 1 } }]))[0]).toMatchObject({ recipe: { a: 1 } });
  });

  test.each<[string, string, string, string | undefined]>([
    ['half a file', '[{"id": "x"', 'invalid-json', undefined],
    ['another kind of file', '{"format": "x"}', 'wrong-format', undefined],
    ['a number', '3', 'wrong-format', undefined],
    ['a row without an id', JSON.stringify([{ ...row, id: undefined }]), 'invalid-field', '[0].id'],
    [
      'a text for a number',
      JSON.stringify([row, { ...row, model: { layers: 'many' } }]),
      'invalid-field',
      '[1].model.layers',
    ],
    ['a row that is none', '[3]', 'invalid-field', '[0]'],
  ])('refuses %s', (_, text, code, path) => {
    let error: unknown;
    try {
      parseRunsText(text, 'x.json');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code, ...(path === undefined ? {} : { path }) });
    expect((error as AppError).message).toContain('x.json');
    expect((error as AppError).remedy).toBeTruthy();
  });
});

describe('a row that states everything', () => {
  test('is read as it stands, with nothing assumed', () => {
    const { scenario, plan, assumed } = read();
    expect(assumed).toEqual([]);
    expect(plan).toMatchObject({
      tp: 4,
      pp: 2,
      dp: 8,
      vpp: 2,
      microBatchSize: 1,
      sequenceParallel: true,
      recompute: { mode: 'none' },
      sharding: { zeroStage: 1 },
    });
    const resolved = resolveScenario(parseScenarioValue(scenario), presets);
    expect(resolved.model).toMatchObject({
      numLayers: 32,
      hiddenSize: 4096,
      numKvHeads: 8,
      headDim: 128,
      gatedFfn: true,
    });
    expect(resolved.cluster).toMatchObject({ accelerator: 'h100-80gb-sxm', numAccelerators: 64, price: null });
    expect(resolved.job).toMatchObject({
      globalBatchSize: 128,
      seqLen: 8192,
      precision: { compute: 'bf16', gradients: 'fp32' },
    });
  });
});

describe('what a row does not state is assumed aloud', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['gated', { 'model.gated': null }, /model\.gated: no/],
    ['ffn', { 'model.ffn': null }, /model\.ffn: 4 × hidden/],
    ['kv_heads', { 'model.kv_heads': null }, /model\.kv_heads: as many as heads/],
    ['head_dim', { 'model.head_dim': null }, /model\.head_dim: hidden ÷ heads/],
    ['gpus_per_node', { 'cluster.gpus_per_node': null }, /cluster\.gpus_per_node: 8/],
    ['tied_embeddings', { 'model.tied_embeddings': null }, /model\.tied_embeddings: no/],
    ['vp', { 'parallel.vp': null }, /parallel\.vp: 1/],
    ['sp', { 'parallel.sp': null }, /parallel\.sp: on/],
    ['dist_opt', { 'parallel.dist_opt': null }, /parallel\.dist_opt: on/],
    ['recompute', { 'parallel.recompute': null }, /parallel\.recompute: none/],
    ['precision', { 'parallel.precision': null }, /parallel\.precision: bf16/],
    ['NIC', { 'cluster.inter_node_gbps_per_gpu': null }, /inter_node_gbps_per_gpu: 400/],
  ])('%s', (_, patch, text) => {
    const { assumed } = read(patch);
    expect(assumed.filter((line) => text.test(line))).toHaveLength(1);
  });

  test('an old stack had neither sequence parallelism nor a sharded optimizer', () => {
    const { plan, assumed } = read({
      framework_version: '2021',
      'parallel.sp': null,
      'parallel.dist_opt': null,
      'parallel.recompute': 'full',
      'parallel.precision': 'fp16',
    });
    expect(plan).toMatchObject({ sequenceParallel: false, sharding: { zeroStage: 0 }, recompute: { mode: 'full' } });
    expect(assumed.join('\n')).toMatch(/gradients accumulated and reduced in fp16/);
  });
});

test.each([
  ['full', 'full'],
  ['full (uniform, 1 layer)', 'full'],
  ['block', 'full'],
  ['selective (attention core)', 'selective'],
  ['none', 'none'],
  ['no', 'none'],
  ['off', 'none'],
])('recompute "%s" is %s', (text, mode) => {
  expect(read({ 'parallel.recompute': text }).plan.recompute?.mode).toBe(mode);
});

describe('a row is skipped, with its reason', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['MoE', { 'model.moe': { experts: 8 } }, /mixture of experts/],
    ['MLA', { 'model.mla': { q_lora: 1 } }, /multi-head latent attention/],
    ['LoRA', { task: 'lora' }, /LoRA/],
    ['another framework', { framework: 'torchtitan' }, /framework torchtitan/],
    ['no framework', { framework: null }, /framework unknown/],
    ['context parallelism', { 'parallel.cp': 2 }, /context parallelism/],
    ['expert parallelism', { 'parallel.ep': 2 }, /expert parallelism/],
    ['fp8', { 'parallel.precision': 'fp8' }, /precision fp8/],
    ['ZeRO 3', { 'parallel.zero': 3 }, /sharding 3/],
    ['FSDP', { 'parallel.zero': 'fsdp' }, /sharding fsdp/],
    ['a word for sharding', { 'parallel.zero': 'hybrid' }, /sharding hybrid/],
    ['single precision', { 'parallel.precision': 'tf32' }, /precision tf32/],
    ['no vocabulary', { 'model.vocab': null }, /unknown: model\.vocab/],
    ['no split', { 'parallel.tp': null, 'parallel.mbs': null }, /unknown: parallel\.tp, parallel\.mbs/],
    ['an accelerator of no catalog', { 'cluster.gpu': 'TPU-v1' }, /accelerator TPU-v1 is not in the catalog/],
    [
      'recomputation unknown in an old stack',
      { framework_version: '2021', 'parallel.recompute': null },
      /parallel\.recompute is unknown/,
    ],
  ])('%s', (_, patch, reason) => {
    const reading = readRun(changed(patch), presets);
    expect('skipped' in reading ? reading.skipped : 'was read').toMatch(reason);
  });
});

test('every row of the first measured runs is read', () => {
  const runs = parseRunsText(firstLightText());
  expect(runs).toHaveLength(24);
  expect(runs.flatMap((run) => ('skipped' in readRun(run, presets) ? [run.id] : []))).toEqual([]);
});
