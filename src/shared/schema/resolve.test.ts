import { describe, expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { modelOf, presets } from '../engine/testing/catalog.ts';
import { parseScenarioText, parseScenarioValue, resolveScenario, type Scenario } from './index.ts';

const small = {
  format: 'trainyard/scenario',
  version: 1,
  name: 'small',
  model: { preset: 'gpt-1t' },
  cluster: { preset: 'selene-a100-80gb', numAccelerators: 3072 },
  job: { globalBatchSize: 3072, seqLen: 2048 },
};

/** `small` with the values at dotted paths replaced; undefined removes the field. */
function changed(patch: Record<string, unknown>): Record<string, unknown> {
  const value = structuredClone(small) as Record<string, unknown>;
  for (const [path, replacement] of Object.entries(patch)) {
    const keys = path.split('.');
    const last = keys.pop()!;
    let at = value;
    for (const key of keys) at = (at[key] ??= {}) as Record<string, unknown>;
    if (replacement === undefined) Reflect.deleteProperty(at, last);
    else at[last] = replacement;
  }
  return value;
}

const open = (value: unknown): Scenario => resolveScenario(parseScenarioValue(value), presets);

function refusal(attempt: () => unknown): AppError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

/** A scenario with every field of docs/FORMATS.md §1. */
const fullExample = {
  format: 'trainyard/scenario',
  version: 1,
  name: 'GPT 1T on Selene',
  notes: 'the run behind the talk',
  model: {
    preset: 'gpt-1t',
    name: 'GPT 1T',
    family: 'gpt',
    numLayers: 128,
    hiddenSize: 25600,
    ffnHiddenSize: 102400,
    gatedFfn: false,
    numHeads: 160,
    numKvHeads: 160,
    headDim: 160,
    vocabSize: 51200,
    tiedEmbeddings: true,
    positions: 'learned',
    maxPositions: 2048,
    normalization: 'layernorm',
    qkvBias: true,
    ffnBias: true,
    qkNorm: false,
    moe: null,
    mla: null,
    layerPattern: null,
    mtpLayers: 0,
  },
  cluster: {
    preset: 'selene-a100-80gb',
    accelerator: 'a100-80gb-sxm',
    numAccelerators: 3072,
    acceleratorsPerNode: 8,
    scaleUp: { domainSize: 8, kind: 'switched', bandwidthGBps: 300 },
    scaleOut: {
      nicsPerAccelerator: 1,
      bandwidthGbps: 200,
      latencyUs: 5,
      oversubscription: 1,
      inNetworkReduction: false,
    },
    host: { memoryGiB: 2048, linkGBps: 24 },
    storage: { readGBps: 1000, writeGBps: 273 },
    price: { currency: 'USD', perAcceleratorHour: 2.0, source: 'user', date: '2026-12-01' },
  },
  job: {
    kind: 'training',
    task: 'pretrain',
    globalBatchSize: 3072,
    seqLen: 2048,
    tokens: 450e9,
    precision: { compute: 'bf16', weights: 'bf16', gradients: 'fp32', optimizer: 'adam-fp32' },
    framework: { family: 'megatron-lm', version: null },
  },
  constraints: {
    headroomFraction: 0.08,
    pin: { tp: [8] },
    exclude: { zeroStage: [3] },
    maxAccelerators: null,
    minMfu: null,
  },
  objective: 'throughput',
  plan: null,
  results: null,
};

/** A plan with every field of docs/FORMATS.md §2. */
const fullPlan = {
  tp: 8,
  pp: 64,
  cp: 1,
  ep: 1,
  etp: 1,
  dp: 6,
  vpp: 1,
  microBatchSize: 1,
  sequenceParallel: true,
  schedule: { name: '1f1b', groupSize: null },
  recompute: { mode: 'full', modules: [], layersPerStage: null },
  sharding: { zeroStage: 1, group: 'dp', reshardAfterForward: true },
  cpMethod: 'ring',
  overlap: { tp: false, gradReduce: true, paramGather: true, pipeline: true, expert: false },
  offload: { optimizer: 0, weights: 0, activations: 0 },
  layout: null,
  rankOrder: 'tp-cp-ep-dp-pp',
  runtime: {
    fusedCrossEntropy: true,
    cudaGraphs: 'none',
    expertDispatcher: 'alltoall',
    expandableSegments: false,
  },
};

describe('accepted scenarios', () => {
  test.each([
    ['the full example of the contract', fullExample],
    ['the same with the full plan of the contract', { ...fullExample, plan: fullPlan }],
    ['presets alone', small],
    ['a partial plan', { ...small, plan: { tp: 8, recompute: { mode: 'full' } } }],
    ['a layout in Megatron’s notation', { ...small, plan: { layout: 'Et*2|(tt|)*5t|tmL' } }],
    ['a price of one’s own', changed({ 'cluster.price': { perAcceleratorHour: 1.5 } })],
    ['no price', changed({ 'cluster.price': null })],
  ])('%s: what was resolved reads as itself', (_, value) => {
    const scenario = open(value);
    expect(open(JSON.parse(JSON.stringify(scenario)))).toEqual(scenario);
    expect(resolveScenario(parseScenarioText(JSON.stringify(scenario)), presets)).toEqual(scenario);
  });

  test('every field of the full example is kept', () => {
    expect(open(fullExample)).toMatchObject(fullExample);
  });
});

describe('presets fill only what is absent', () => {
  test('a model preset gives all its fields, those with a default too', () => {
    expect(open(small).model).toEqual({ ...modelOf('gpt-1t'), preset: 'gpt-1t' });
  });

  test.each([
    ['model.numLayers', 64],
    ['model.dropout', false],
    ['model.qkvBias', false],
    ['cluster.acceleratorsPerNode', 16],
    ['cluster.host', null],
    ['cluster.scaleOut.bandwidthGbps', 400],
    ['cluster.scaleUp.domainSize', 4],
    ['job.precision.gradients', 'bf16'],
    ['job.framework.version', '2021'],
  ])('%s as given overrides the preset, and nothing else changes', (path, value) => {
    const expected = structuredClone(open(small)) as unknown as Record<string, unknown>;
    const keys = path.split('.');
    const last = keys.pop()!;
    const parent = keys.reduce((at, key) => at[key] as Record<string, unknown>, expected);
    parent[last] = value;
    expect(open(changed({ [path]: value }))).toEqual(expected);
  });

  test('a cluster preset gives wiring, host, storage and price; the accelerator what is then missing', () => {
    const { cluster } = open(small);
    expect(cluster).toMatchObject({ accelerator: 'a100-80gb-sxm', acceleratorsPerNode: 8, preset: 'selene-a100-80gb' });
    expect(cluster.host).toEqual({ memoryGiB: 2048, linkGBps: 24 });
    const bare = open(changed({ cluster: { accelerator: 'H100', numAccelerators: 16 } })).cluster;
    expect(bare).toMatchObject({ accelerator: 'h100-80gb-sxm', acceleratorsPerNode: 8, host: null });
    expect(bare.price?.perAcceleratorHour).toBeGreaterThan(0);
  });

  test('what nobody says takes the documented defaults', () => {
    const scenario = open(small);
    expect(scenario.constraints).toEqual({
      headroomFraction: 0.08,
      pin: {},
      exclude: {},
      maxAccelerators: null,
      minMfu: null,
    });
    expect(scenario.job).toMatchObject({
      kind: 'training',
      task: 'pretrain',
      tokens: null,
      precision: { compute: 'bf16', weights: 'bf16', gradients: 'fp32', optimizer: 'adam-fp32' },
      framework: { family: 'megatron-lm', version: null },
    });
    expect(scenario).toMatchObject({ objective: 'throughput', plan: null, results: null, notes: '' });
  });

  test('a model by hand takes head size and KV heads from its sizes', () => {
    const model = { ...modelOf('llama-2-7b'), preset: undefined, headDim: undefined, numKvHeads: undefined };
    const value = changed({ model: JSON.parse(JSON.stringify(model)) });
    expect(open(value).model).toMatchObject({ headDim: 128, numKvHeads: 32, preset: null });
  });
});

describe('bad input is refused with its place and a remedy', () => {
  test.each<[string, Record<string, unknown>, string, string, string]>([
    ['missing', { name: undefined }, 'name', 'is missing', 'Give a text.'],
    ['missing part', { model: undefined }, 'model', 'is missing', 'Give an object.'],
    ['missing count', { cluster: { accelerator: 'H100' } }, 'cluster.numAccelerators', 'is missing', 'Give a number.'],
    ['missing batch', { 'job.globalBatchSize': undefined }, 'job.globalBatchSize', 'is missing', 'Give a number.'],
    ['blank', { name: ' ' }, 'name', 'must have at least 1 character, found " "', 'Use at least 1 character.'],
    [
      'text for a number',
      { 'model.hiddenSize': 'big' },
      'model.hiddenSize',
      'must be a number, found "big"',
      'Give a number.',
    ],
    [
      'part of a thing',
      { 'job.seqLen': 2.5 },
      'job.seqLen',
      'must be a whole number, found 2.5',
      'Give a whole number.',
    ],
    ['null', { 'model.numLayers': null }, 'model.numLayers', 'must be a number, found null', 'Give a number.'],
    ['zero', { 'job.seqLen': 0 }, 'job.seqLen', 'must be at least 1, found 0', 'Give a value of at least 1.'],
    [
      'negative',
      { 'model.numLayers': -3 },
      'model.numLayers',
      'must be at least 1, found -3',
      'Give a value of at least 1.',
    ],
    ['no tokens', { 'job.tokens': 0 }, 'job.tokens', 'must be above 0, found 0', 'Give a value above 0.'],
    [
      'NaN',
      { 'model.numLayers': NaN },
      'model.numLayers',
      'must be a finite number, found NaN',
      'Give a finite number.',
    ],
    [
      'Infinity',
      { 'job.tokens': Infinity },
      'job.tokens',
      'must be a finite number, found Infinity',
      'Give a finite number.',
    ],
    [
      'absurd',
      { 'model.hiddenSize': 1e300 },
      'model.hiddenSize',
      'must be at most 1,000,000, found 1e+300',
      'Give a value of at most 1,000,000.',
    ],
    [
      'not a boolean',
      { 'model.gatedFfn': 'yes' },
      'model.gatedFfn',
      'must be true or false, found "yes"',
      'Give true or false.',
    ],
    [
      'not a choice',
      { 'job.task': 'pre' },
      'job.task',
      'must be one of pretrain, sft, lora, found "pre"',
      'Use one of: pretrain, sft, lora.',
    ],
    ['no list', { 'constraints.pin.tp': 8 }, 'constraints.pin.tp', 'must be a list, found 8', 'Give a list.'],
    ['no union', { 'plan.layout': 5 }, 'plan.layout', 'must be a text or a list, found 5', 'Give a text or a list.'],
    [
      'headroom',
      { 'constraints.headroomFraction': 2 },
      'constraints.headroomFraction',
      'must be at most 0.9, found 2',
      'Give a value of at most 0.9.',
    ],
    [
      'unknown field',
      { 'model.hidden': 3 },
      'model.hidden',
      'is not a field that is known here',
      'Remove the field or correct its spelling.',
    ],
    [
      'unknown part',
      { jobs: 3 },
      'jobs',
      'is not a field that is known here',
      'Remove the field or correct its spelling.',
    ],
    ['old version', { version: 0 }, 'version', 'must be 1, found 0', 'Give 1.'],
    [
      'no accelerator',
      { 'cluster.preset': undefined },
      'cluster.accelerator',
      'is missing',
      'Name an accelerator of the catalog.',
    ],
    [
      'KV heads',
      { 'model.numKvHeads': 7 },
      'model.numKvHeads',
      'must divide numHeads = 160, found 7',
      'Give a divisor of numHeads.',
    ],
    [
      'part of a node',
      { 'cluster.numAccelerators': 3073 },
      'cluster.numAccelerators',
      'must fill whole nodes of 8, found 3073',
      'Use 3080.',
    ],
    ['a function', { name: () => 1 }, 'name', 'must be a text, found a function', 'Give a text.'],
    ['a bigint', { 'job.seqLen': 3n }, 'job.seqLen', 'must be a number, found 3', 'Give a number.'],
  ])('%s', (_, patch, path, message, remedy) => {
    const error = refusal(() => open(changed(patch)));
    expect(error.code).toBe('invalid-field');
    expect(error.issues).toEqual([{ path, message, remedy }]);
    expect(error.message).toContain(`${path}: ${message}`);
  });

  test.each([
    ['model.preset', 'gpt-9', 'there is no model "gpt-9"', 'gpt-1t'],
    ['cluster.preset', 'selen', 'there is no cluster "selen"', 'selene-a100-80gb'],
    ['cluster.accelerator', 'h110', 'there is no accelerator "h110"', 'Did you mean h100-80gb-sxm'],
    ['cluster.accelerator', 'z9', 'there is no accelerator "z9"', 'trainyard catalog'],
  ])('unknown %s', (path, id, message, known) => {
    const error = refusal(() => open(changed({ [path]: id })));
    expect(error).toMatchObject({ code: 'unknown-preset', path });
    expect(error.message).toContain(message);
    expect(error.remedy).toContain(known);
  });

  test('a LoRA task has adapters, other tasks have none', () => {
    expect(open(changed({ 'job.task': 'lora' })).job.lora).toEqual({ rank: 16, targets: ['attention', 'ffn'] });
    expect(open(changed({ 'job.task': 'lora', 'job.lora': { rank: 8 } })).job.lora).toMatchObject({ rank: 8 });
    expect(open(changed({ 'job.task': 'sft', 'job.lora': null })).job.lora).toBeNull();
    const error = refusal(() => open(changed({ 'job.task': 'sft', 'job.lora': { rank: 8 } })));
    expect(error).toMatchObject({ path: 'job.lora', remedy: 'Set job.task to lora, or job.lora to null.' });
  });

  test.each([
    ['job.precision.compute', 'fp32', 'fp32 training'],
    ['objective', 'robust', 'robustness'],
  ])('%s is understood and refused as not planned', (path, value, what) => {
    const error = refusal(() => open(changed({ [path]: value })));
    expect(error).toMatchObject({ code: 'unsupported', path });
    expect(error.message).toContain(`${what} is not planned by this version`);
    expect(error.remedy).not.toBe('');
  });

  test('another accelerator than the preset’s brings its own links, node and price', () => {
    const own = open(changed({ 'cluster.preset': undefined, 'cluster.accelerator': 'h100-80gb-sxm' })).cluster;
    const { cluster } = open(changed({ 'cluster.accelerator': 'h100-80gb-sxm' }));
    expect(cluster.scaleUp).toEqual(own.scaleUp);
    expect(cluster.scaleOut).toEqual(own.scaleOut);
    expect(cluster.price).toEqual(own.price);
  });

  test('a size beyond reason is refused', () => {
    expect(refusal(() => open(changed({ 'cluster.scaleUp.bandwidthGBps': 1e300 }))).issues).toMatchObject([
      {
        path: 'cluster.scaleUp.bandwidthGBps',
        message: expect.stringContaining('at most 1,000,000,000,000,000,000') as string,
      },
    ]);
  });

  test('every fault of a file is told at once', () => {
    const patch = { name: 3, 'model.numLayers': 0, 'job.seqLen': 'x', extra: true };
    expect(refusal(() => open(changed(patch))).issues.map((issue) => issue.path)).toEqual([
      'name',
      'model.numLayers',
      'job.seqLen',
      'extra',
    ]);
  });

  test('what presets leave open is told at once too', () => {
    const value = changed({ model: { numLayers: 3 }, 'job.seqLen': undefined });
    const paths = refusal(() => open(value)).issues.map((issue) => issue.path);
    expect(paths).toEqual(
      expect.arrayContaining(['model.family', 'model.hiddenSize', 'model.vocabSize', 'job.seqLen']),
    );
  });
});
