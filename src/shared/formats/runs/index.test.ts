import { describe, expect, test } from 'vitest';
import { AppError } from '../../errors.ts';
import { firstLightText, presets } from '../../engine/testing/catalog.ts';
import { parseScenarioValue, resolveScenario, type Run } from '../../schema/index.ts';
import { parseRunsText, readRun, type RunCase } from './index.ts';

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
    ['summaries of trainings', '[{"run": "x", "model": "7B", "gpus": 8, "mfu": 0.4}]', 'wrong-format', undefined],
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
  ['InternEvo', null, 'bf16'],
  ['llm-foundry (Composer + PyTorch FSDP)', 'MP mode PURE; act cpu offload False', 'bf16'],
  ['llm-foundry (Composer + PyTorch FSDP)', 'MP mode DEFAULT; act cpu offload False', 'fp32'],
  ['NeMo', null, 'fp32'],
])('%s (%s) reduces gradients in %s', (framework, notes, gradients) => {
  expect(read({ framework, notes }).scenario.job.precision?.gradients).toBe(gradients);
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
    ['another framework', { framework: 'NeuronX Distributed' }, /framework NeuronX Distributed/],
    [
      'a fork, whose schedules are its own',
      { framework: 'Megatron-LM fork (zero bubble)' },
      /framework Megatron-LM fork/,
    ],
    ['no framework', { framework: null }, /framework unknown/],
    ['experts of unknown width', { 'model.moe': { experts: 8, topk: 2 } }, /unknown: model\.moe\.moe_ffn/],
    ['latent attention of unknown ranks', { 'model.mla': { q_lora: 1 } }, /unknown: model\.mla\.kv_lora/],
    ['a word for sharding', { 'parallel.zero': 'hybrid' }, /sharding hybrid/],
    ['single precision', { 'parallel.precision': 'tf32' }, /precision tf32/],
    ['no vocabulary', { 'model.vocab': null }, /unknown: model\.vocab/],
    ['no split', { 'parallel.tp': null, 'parallel.mbs': null }, /unknown: parallel\.mbs, parallel\.tp/],
    ['an accelerator of no catalog', { 'cluster.gpu': 'TPU-v1' }, /accelerator TPU-v1 is not in the catalog/],
    ['more stages than layers', { 'parallel.pp': 16, 'parallel.vp': 4 }, /pp·vp = 64 stages are more/],
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

describe('models beyond dense ones', () => {
  const moe = { experts: 64, topk: 6, moe_ffn: 1408, shared_experts: 2, dense_first: 1 };

  test('experts: shared ones are as wide together as their number says', () => {
    const { scenario } = read({ 'model.moe': moe, 'parallel.ep': 8, 'parallel.etp': 1 });
    expect(resolveScenario(parseScenarioValue(scenario), presets).model.moe).toMatchObject({
      numExperts: 64,
      expertsPerToken: 6,
      expertFfnHiddenSize: 1408,
      sharedExpertFfnHiddenSize: 2816,
      denseFirst: 1,
      everyN: 1,
    });
    expect(read({ 'model.moe': { ...moe, shared_ffn: 3000 } }).scenario.model.moe).toMatchObject({
      sharedExpertFfnHiddenSize: 3000,
    });
    expect(read({ 'model.moe': moe, 'model.moe_layer_interleave': 2 }).scenario.model.moe).toMatchObject({ everyN: 2 });
  });

  test('latent attention: a query rank of 0 means that queries are projected directly', () => {
    const mla = { q_lora: 0, kv_lora: 512, qk_nope: 128, qk_rope: 64, v_head: 128 };
    expect(read({ 'model.mla': mla }).scenario.model.mla).toMatchObject({ qLoraRank: null, kvLoraRank: 512 });
    expect(read({ 'model.mla': { ...mla, q_lora: 1536 } }).scenario.model.mla).toMatchObject({ qLoraRank: 1536 });
  });

  test('unknown heads are about 128 wide, go evenly over tp, and are said to be assumed', () => {
    const { scenario, assumed } = read({
      'model.hidden': 14_336,
      'model.heads': null,
      'model.head_dim': null,
      'model.kv_heads': null,
    });
    expect(scenario.model).toMatchObject({ numHeads: 112, numKvHeads: 112, headDim: 128 });
    expect(assumed.join('\n')).toMatch(/model\.heads: 112/);
  });

  test('a plain FFN with untied embeddings has neither biases nor dropout', () => {
    const gpt = { 'model.gated': false, 'model.tied_embeddings': true };
    expect(read(gpt).scenario.model).toMatchObject({ dropout: true, ffnBias: true, normalization: 'layernorm' });
    expect(read({ 'model.gated': false }).scenario.model).toMatchObject({ dropout: false, ffnBias: false });
    expect(read({ ...gpt, framework: 'llm-foundry' }).scenario.model).toMatchObject({ dropout: false, ffnBias: false });
  });
});

test.each<[unknown, object]>([
  ['ddp (no fsdp)', { zeroStage: 1 }],
  ['zero1=-1', { zeroStage: 1 }],
  ['zero1=4', { zeroStage: 1, group: { size: 4 } }],
  ['zero1=8', { zeroStage: 1 }], // as large as dp
  ['ZeRO-1', { zeroStage: 1 }],
  ['FULL_SHARD', { zeroStage: 3 }],
  ['SHARD_GRAD_OP', { zeroStage: 3, reshardAfterForward: false }],
  ['FSDP2', { zeroStage: 3 }],
  ['FSDP (shard group 4, DP replicas 2)', { zeroStage: 3, group: { size: 4 } }],
  ['megatron-fsdp', { zeroStage: 3 }],
  [3, { zeroStage: 3 }],
  ['stage-2', { zeroStage: 2 }],
])('sharding "%s" is %o', (zero, sharding) => {
  const { plan } = read({ 'parallel.zero': zero });
  expect(plan.sharding).toEqual(sharding);
});

test('a framework that shards weights does so unless a row says otherwise', () => {
  const { plan, assumed, scenario } = read({
    framework: 'torchtitan',
    'parallel.dist_opt': null,
    'parallel.tp': null,
    'parallel.pp': null,
    'parallel.dp': 64,
  });
  expect(plan).toMatchObject({ tp: 1, pp: 1, dp: 64, sharding: { zeroStage: 3 } });
  expect(assumed.join('\n')).toMatch(/parallel\.zero: 3/);
  expect(plan.runtime?.attentionKernel).toBe('flash-2');
  expect(read().plan.runtime?.attentionKernel).toBeUndefined();
  expect(scenario.job.framework).toMatchObject({ family: 'fsdp' });
});

test.each<[string, string[]]>([
  ['selective (attention core)', ['core-attention']],
  ['selective: mlp', ['mlp']],
  ['selective: mlp, mla_up_proj, moe_act, layernorm', ['mla-up-projection', 'moe-activation', 'norms', 'mlp']],
])('recompute "%s" names its modules', (text, modules) => {
  expect(read({ 'parallel.recompute': text }).plan.recompute).toEqual({ mode: 'selective', modules });
});

test.each<[string | null, string]>([
  ['bf16 (fp32 grad accumulation)', 'bf16'],
  ['amp_bf16', 'bf16'],
  ['FP8-MX', 'fp8'],
  ['NVFP4', 'fp4'],
  ['amp_fp8', 'fp8'],
  ['FP16', 'fp16'],
])('precision "%s" computes in %s', (precision, compute) => {
  expect(read({ 'parallel.precision': precision }).scenario.job.precision?.compute).toBe(compute);
});

test.each([
  ['MoE routing force-balanced, token-dropless', 1],
  [null, undefined],
])('notes "%s" mean an expert imbalance of %s', (notes, imbalance) => {
  const reading = readRun({ ...changed({}), notes }, presets);
  expect('skipped' in reading ? reading.skipped : reading.case.plan.runtime?.expertImbalance).toBe(imbalance);
});

describe('what the public recipe of a run sets', () => {
  const recipe = {
    from: 'x.py',
    recompute_modules: ['mla_up_proj'],
    cpu_offloading_num_layers: 16,
    cuda_graph_impl: 'transformer_engine',
    cuda_graph_scope: ['attn', 'moe_router'],
    moe_a2a_overlap: true,
    moe_dispatcher: 'hybridep',
    tp_comm_overlap: true,
    overlap_grad_sync: false,
    overlap_param_sync: true,
  };

  test('is taken where the row itself is silent', () => {
    const { plan, assumed } = read({ recipe, 'parallel.recompute': null, 'parallel.sp': null });
    expect(plan).toMatchObject({
      recompute: { mode: 'selective', modules: ['mla-up-projection'] },
      overlap: { tp: true, expert: true, gradReduce: false, paramGather: true },
      runtime: { cudaGraphs: 'per-layer', expertDispatcher: 'hybridep' },
      offload: { activations: 0.5 },
    });
    expect(assumed.join('\n')).toMatch(/the run’s recipe/);
  });

  test('gives way to what the row states', () => {
    const { plan } = read({ recipe, 'parallel.recompute': 'full', 'parallel.overlap': 'none (contract)' });
    expect(plan).toMatchObject({ recompute: { mode: 'full' }, overlap: { tp: false, paramGather: false } });
  });

  test('a graph of the whole step is written in two ways', () => {
    const graphs = (cuda_graph_impl: string, cuda_graph_scope: unknown) =>
      read({ recipe: { cuda_graph_impl, cuda_graph_scope } }).plan.runtime?.cudaGraphs;
    expect(graphs('full_iteration', null)).toBe('full');
    expect(graphs('none', 'full_iteration')).toBe('full');
    expect(graphs('none', [])).toBeUndefined();
  });
});

test('layers that do not divide are spread, embedding and loss counted as one each', () => {
  const layout = (patch: Record<string, unknown>) => read(patch).plan.layout;
  expect(layout({})).toBeNull();
  expect(layout({ 'model.layers': 30, 'parallel.pp': 4, 'parallel.vp': 2 })).toBe(
    'Ettt|tttt|tttt|tttt|tttt|tttt|tttt|tttL',
  );
  expect(layout({ 'model.layers': 4, 'model.mtp_layers': 1, 'parallel.vp': 1 })).toBe('Ettt|tmL');
});

test('a part that the notes name more closely is that part', () => {
  const { scenario } = read({ 'cluster.gpu': 'H100', notes: 'H100 96GB HBM2e 2.4TB/s, 500W' });
  expect(scenario.cluster.accelerator).toBe('h100-96gb-hbm2e');
  expect(read({ 'cluster.gpu': 'H100' }).scenario.cluster.accelerator).toBe('h100-80gb-sxm');
});

test('every row of the first measured runs is read', () => {
  const runs = parseRunsText(firstLightText());
  expect(runs).toHaveLength(24);
  expect(runs.flatMap((run) => ('skipped' in readRun(run, presets) ? [run.id] : []))).toEqual([]);
});

test.each([
  ['Megatron-Bridge (Megatron-Core)', ['qkv']],
  ['Megatron-LM', ['attention', 'ffn']],
])('a LoRA run of %s trains adapters on %j', (framework, targets) => {
  const { scenario, assumed } = read({ task: 'finetune-lora', framework });
  expect(scenario.job).toMatchObject({ task: 'lora', lora: { rank: 16, targets } });
  expect(assumed.join()).toContain('adapters: rank 16');
});
