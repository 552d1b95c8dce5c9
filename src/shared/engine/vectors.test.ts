/** The test vectors of the planning model that the present scope covers, one test each; those left for later are counted. */
import { describe, expect, test } from 'vitest';
import type { Model, PlanInput } from '../schema/index.ts';
import { GIB } from '../units.ts';
import { busFactor, collectiveSeconds, type CollectiveOp } from './kernels/index.ts';
import { layerActivationBytes, stageMemory, stageMemoryItems } from './memory/index.ts';
import { groupOf, groupSeconds, hierarchical, linksOf, ring } from './network/index.ts';
import { schedules } from './pipeline/schedules/index.ts';
import { completePlan } from './plan.ts';
import type { Problem } from './problem.ts';
import { StepModel } from './step/index.ts';
import { runTotals } from './summary.ts';
import { calibration, modelOf } from './testing/catalog.ts';
import { problemOf, smallModel, type Choices } from './testing/problems.ts';
import file from './testing/vectors.json' with { type: 'json' };
import { communicationsOf } from './explain/communication.ts';
import { modelFlops, recomputedFlops } from './workload/flops.ts';
import { stackOf } from '../layer-stack.ts';
import { paddedVocabSize, rankParameters, totalParameters } from './workload/parameters.ts';

type Inputs = Record<string, number>;
interface Vector {
  id: string;
  section: string;
  check: string;
  inputs: Inputs & { eq3: string; op: string; gpu: string; mode: string; weights: string; gradients: string };
  expected: unknown;
  tolerance: number;
}
const vectors = file.vectors as unknown as Vector[];
const byId = new Map(vectors.map((vector) => [vector.id, vector]));

function near(actual: number, expected: unknown, tolerance: number): void {
  expect(typeof expected).toBe('number');
  const error = Math.abs(actual / (expected as number) - 1);
  expect(error, `${actual} is not ${String(expected)} within ${tolerance}`).toBeLessThanOrEqual(tolerance);
}

/** The first name that the inputs have: the vectors spell the same quantity in several ways. */
function pick(inputs: Inputs, ...names: string[]): number {
  const name = names.find((candidate) => inputs[candidate] !== undefined);
  if (name === undefined) throw new Error(`none of ${names.join(', ')} in ${JSON.stringify(inputs)}`);
  return inputs[name] as number;
}

function gpt(inputs: Inputs): Model {
  const hiddenSize = pick(inputs, 'h', 'hidden');
  const numHeads = inputs['heads'] ?? inputs['a'] ?? 1;
  return {
    ...smallModel,
    family: 'gpt',
    numLayers: inputs['L'] ?? inputs['l'] ?? inputs['layers'] ?? 1,
    hiddenSize,
    ffnHiddenSize: 4 * hiddenSize,
    gatedFfn: false,
    numHeads,
    numKvHeads: numHeads,
    headDim: hiddenSize / numHeads,
    vocabSize: inputs['V'] ?? inputs['v'] ?? inputs['vocab'] ?? 51_200,
    tiedEmbeddings: true,
    positions: 'learned',
    maxPositions: pick(inputs, 's', 'seq'),
    normalization: 'layernorm',
    qkvBias: true,
    ffnBias: true,
    dropout: true,
  };
}

function llama(inputs: Inputs): Model {
  return {
    ...smallModel,
    numLayers: inputs['L'] ?? inputs['layers'] ?? 1,
    hiddenSize: pick(inputs, 'h', 'hidden'),
    ffnHiddenSize: pick(inputs, 'f', 'ffn'),
    numHeads: pick(inputs, 'a', 'heads'),
    numKvHeads: pick(inputs, 'kv', 'kv_heads'),
    headDim: pick(inputs, 'd', 'head_dim'),
    vocabSize: inputs['V'] ?? inputs['vocab'] ?? 128_256,
    tiedEmbeddings: Boolean(inputs['tied']),
    qkvBias: Boolean(inputs['qkv_bias']),
    qkNorm: Boolean(inputs['qk_norm']),
  };
}

/** Model FLOPs of one step, and with everything recomputed. */
function stepFlops(inputs: Inputs): { model: number; full: number; core: number } {
  const model = gpt(inputs);
  const { B = 1, s = 1 } = inputs;
  const useful = modelFlops(model, s, B * s);
  const extra = (mode: 'selective' | 'full') =>
    recomputedFlops(
      model,
      { seqLen: s, numTokens: B * s },
      { mode, modules: ['core-attention'], layersPerStage: null },
    );
  return { model: useful, full: useful + extra('full'), core: extra('selective') };
}

function planned(choices: Choices, input: PlanInput) {
  const problem = problemOf(choices);
  return { problem, plan: completePlan(problem, input) };
}

const stageParameters = (
  model: Model,
  tp: number,
  layers: number,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
) => {
  const rank = { counts: [layers], hasEmbedding: isFirst, hasHead: isLast, mtpLayers: 0 };
  return rankParameters(model, { tp, ep: 1, etp: 1 }, rank).dense;
};

/** Bytes of activations of one layer and micro-batch. */
function layerBytes(
  model: Model,
  inputs: Inputs,
  kind: { version: string | null; mode: 'none' | 'selective' | 'full' },
) {
  const { t = 1, b = 1, s = 1 } = inputs;
  const choices = { model, numAccelerators: t, globalBatchSize: b, seqLen: s, version: kind.version };
  const { plan } = planned(choices, {
    tp: t,
    microBatchSize: b,
    sequenceParallel: Boolean(inputs['sp']) && t > 1,
    recompute: { mode: kind.mode },
  });
  return layerActivationBytes(model, stackOf(model).kinds[0]!, plan, s).kept;
}

function shapeOf(inputs: Inputs) {
  return { pp: pick(inputs, 'p', 'PP'), numMicroBatches: pick(inputs, 'm', 'M'), vpp: inputs['v'] ?? inputs['V'] ?? 1 };
}
const scheduleOf = ({ vpp }: { vpp: number }) => schedules[vpp > 1 ? 'interleaved-1f1b' : '1f1b'];

function kortActivations({ inputs }: Vector): number {
  const { t = 1, p = 1, b = 1, s = 1, interleave = 1, L = 1 } = inputs;
  const isSelective = inputs.mode === 'selective';
  const mode = isSelective ? 'selective' : 'none';
  const perLayer = layerBytes(gpt(inputs), { sp: isSelective ? 1 : 0, t, b, s }, { version: '2022', mode });
  const shape = { pp: p, numMicroBatches: 10 * p, vpp: interleave };
  return ((L / p) * scheduleOf(shape).inFlight(shape, 0) * perLayer) / GIB;
}

function logits({ V = 1, t = 1, s = 1, b = 1 }: Inputs): number {
  const choices = { model: { vocabSize: V }, numAccelerators: t, globalBatchSize: b, seqLen: s };
  const runtime = { fusedCrossEntropy: false } as const;
  const { problem, plan } = planned(choices, { tp: t, microBatchSize: b, runtime });
  const item = stageMemoryItems(problem, plan, 0).find(({ label }) => label.startsWith('Logits'));
  // the vectors count the fp32 copy, 4 of the 6 bytes per logit, and do not pad the vocabulary
  return ((4 / 6) * (item?.bytes ?? 0) * V) / paddedVocabSize(problem.model, t);
}

function bytesPerParameter({ d = 1, weights, gradients }: Vector['inputs']): number {
  const precision = { compute: weights === 'fp16' ? 'fp16' : 'bf16', weights, gradients } as Choices['precision'];
  const { problem, plan } = planned(
    { numAccelerators: d, globalBatchSize: d, precision },
    { sharding: { zeroStage: 1 } },
  );
  const memory = stageMemory(problem, plan, 0);
  const parameters = stageParameters(problem.model, 1, problem.model.numLayers, { isFirst: true, isLast: true });
  return (memory.weights + memory.gradients + memory.optimizer) / parameters;
}

/** Bytes that one rank sends over a group in a step. */
function sentBytes(problem: Problem, input: PlanInput, group: string): number {
  const plan = completePlan(problem, input);
  const cost = new StepModel(problem).cost(plan);
  const factor = (operation: string, size: number) =>
    busFactor(operation === 'all-reduce' ? 'allReduce' : 'allGather', size);
  return communicationsOf(problem, plan, cost)
    .filter((communication) => communication.group === group)
    .reduce((sum, c) => sum + c.callsPerStep * c.bytesPerCall * factor(c.operation, c.groupSize), 0);
}

function dpVolume({ stage = 0, Psi = 1 }: Inputs): number {
  const dp = 1024;
  const precision = { compute: 'fp16', weights: 'fp16', gradients: 'fp16' } as const;
  const problem = problemOf({ numAccelerators: dp, globalBatchSize: dp, precision });
  const parameters = stageParameters(problem.model, 1, problem.model.numLayers, { isFirst: true, isLast: true });
  const bytes = sentBytes(problem, { dp, sharding: { zeroStage: stage === 1 ? 1 : 0 } }, 'dp');
  // the vectors count an endless dp
  return ((bytes / parameters) * Psi * dp) / (dp - 1);
}

function tpVolume({ s = 1, b = 1, h = 1, t = 1 }: Inputs): number {
  const model = { hiddenSize: h, numHeads: h / 128, numKvHeads: h / 128, numLayers: 1 };
  const problem = problemOf({ model, numAccelerators: t, globalBatchSize: b, seqLen: s });
  return sentBytes(problem, { tp: t, microBatchSize: b, sequenceParallel: false }, 'tp');
}

function sendBytes({ s = 1, b = 1, h = 1, t = 1 }: Inputs): number {
  const model = { hiddenSize: h, numHeads: h / 128, numKvHeads: h / 128 };
  const choices = { model, numAccelerators: 2 * t, globalBatchSize: 2 * b, seqLen: s };
  const { problem, plan } = planned(choices, { tp: t, pp: 2, microBatchSize: b, sequenceParallel: false });
  return new StepModel(problem).cost(plan).sendBytes;
}

function linksWith(domainSize: number, scaleOutBytesPerSecond: number) {
  const acceleratorsPerNode = domainSize;
  return {
    ...linksOf(problemOf()),
    domainSize,
    acceleratorsPerNode,
    scaleOutBytesPerSecond,
    scaleOutLatencySeconds: 0,
  };
}

/** Seconds beyond those of an all but empty message: what bandwidth costs. */
function bandwidthSeconds(links: ReturnType<typeof linksWith>, size: number, bytes: number): number {
  const group = groupOf(links.domainSize, size, 1);
  return groupSeconds(links, 'allReduce', group, bytes) - groupSeconds(links, 'allReduce', group, 1e-6);
}

/** The whole run at a measured rate of hardware FLOPs (recomputation counted) per accelerator. */
function daysAt({ P = 0, T = 0, n = 1, X = 1, B = 1024 }: Inputs): number {
  const id = P > 0.9e12 ? 'gpt-1t' : P > 3e11 ? 'gpt-530b' : 'gpt-175b';
  const problem = problemOf({ model: modelOf(id), numAccelerators: n, globalBatchSize: B, seqLen: 2048, tokens: T });
  const { full } = stepFlops({ B, s: 2048, h: problem.model.hiddenSize, L: problem.model.numLayers });
  return runTotals(problem, full / (n * X)).days ?? NaN;
}

type Check = (vector: Vector) => void;
const simple =
  (compute: (inputs: Vector['inputs'], vector: Vector) => number): Check =>
  (vector) =>
    near(compute(vector.inputs, vector), vector.expected, vector.tolerance);

const checks: Record<string, Check> = {
  'llama-parameters': simple((inputs) => totalParameters(llama(inputs))),
  'gpt-parameters': simple((inputs) => totalParameters(gpt(inputs))),
  'sc21-step-flops': simple((inputs) => stepFlops(inputs).full),
  'sc21-step-seconds': simple(
    ({ eq3, aggregate_PFLOPs = 1 }) => stepFlops(byId.get(eq3)?.inputs ?? {}).full / (aggregate_PFLOPs * 1e15),
  ),
  'sc21-mfu': simple(({ eq3, aggregate_PFLOPs = 1, n = 1 }) => {
    const { model, full } = stepFlops(byId.get(eq3)?.inputs ?? {});
    return ((model / full) * aggregate_PFLOPs * 1e15) / (n * 312e12);
  }),
  'kort-mfu': simple((inputs) => stepFlops(inputs).model / pick(inputs, 'iter_s') / (pick(inputs, 'gpus') * 312e12)),
  // the paper adds core attention three times (its eq. 8 as printed), where recomputation repeats it once
  'kort-hfu': simple((inputs) => {
    const { model, core } = stepFlops(inputs);
    return (model + 3 * core) / pick(inputs, 'iter_s') / (pick(inputs, 'gpus') * 312e12);
  }),
  'flops-per-token': simple((inputs) => modelFlops(llama(inputs), pick(inputs, 's'), 1)),
  'kort-states': simple((inputs) => {
    const { L = 1, t = 1, p = 1 } = inputs;
    return (18 * stageParameters(gpt(inputs), t, L / p, { isFirst: false, isLast: false })) / GIB;
  }),
  'kort-activations': simple((_, vector) => kortActivations(vector)),
  'kort-layer': simple((inputs, { inputs: { recompute } }) =>
    layerBytes(gpt(inputs), inputs, { version: '2022', mode: recompute as unknown as 'none' }),
  ),
  'llama-layer': simple((inputs) => layerBytes(llama(inputs), inputs, { version: null, mode: 'none' })),
  'in-flight': simple((inputs) => scheduleOf(shapeOf(inputs)).inFlight(shapeOf(inputs), 0)),
  logits: simple(logits),
  'bytes-per-parameter': simple(bytesPerParameter),
  'dp-volume': simple(dpVolume),
  'tp-volume': simple(tpVolume),
  'send-bytes': simple(sendBytes),
  'ring-all-reduce': ({ inputs, expected, tolerance }) => {
    const { n = 1, S = 1, B = 1, alpha = 0 } = inputs;
    const ringLatency = 2 * (n - 1) * alpha; // the engine may take a tree's, which is shorter
    near(bandwidthSeconds(linksWith(1, B), n, S), Number(expected) - ringLatency, Math.max(tolerance, 1e-8));
  },
  // expected: naive, flat ring over all NICs of a node, hierarchical inter part, measured
  'hierarchical-all-reduce': ({ inputs: { P = 1, nic = 1, k = 1, g = 1 }, expected, tolerance }) => {
    const [, flatRing = 0, interPart = 0, measured = 0] = expected as number[];
    const links = { ...linksWith(g, nic), scaleUpRatio: 10 }; // a B200's links inside the node do not bind
    const group = groupOf(links.domainSize, g * k, 1);
    const secondsOf = (algorithm: typeof ring) => {
      const of = (bytes: number) => algorithm.seconds(links, { op: 'allReduce', group, bytes }) ?? NaN;
      return of(P) - of(1e-6);
    };
    near(secondsOf(ring), flatRing, tolerance);
    expect(secondsOf(hierarchical)).toBeGreaterThan(interPart);
    expect(secondsOf(hierarchical)).toBeLessThan(measured);
  },
  schedule: ({ inputs, expected, tolerance }) => {
    const shape = shapeOf(inputs);
    const t = pick(inputs, 'tf') + pick(inputs, 'tb');
    const perRank = new Array<number>(shape.pp).fill(t);
    const stage = { perRank, send: inputs['c'] ?? 0, isSendHidden: true };
    const { busy, bubble, sends } = scheduleOf(shape).seconds(shape, stage);
    if (typeof expected === 'number') return near(busy + bubble + sends, expected, tolerance);
    const want = expected as { makespan: number; bubble_over_ideal: number; peak: number[]; idle_fraction?: number };
    near(busy + bubble + sends, want.makespan, tolerance);
    near(bubble / busy, want.bubble_over_ideal, tolerance);
    if (want.idle_fraction !== undefined) near(bubble / (busy + bubble), want.idle_fraction, tolerance);
    want.peak.forEach((peak, rank) => near(scheduleOf(shape).inFlight(shape, rank), peak, tolerance));
  },
  uneven: ({ inputs, expected, tolerance }) => {
    const tf = inputs['tf'] as unknown as number[];
    const tb = inputs['tb'] as unknown as number[];
    const stage = { perRank: tf.map((time, rank) => time + (tb[rank] ?? 0)), send: 0, isSendHidden: true };
    const { busy, bubble } = schedules['1f1b'].seconds(
      { pp: tf.length, numMicroBatches: inputs['m'] ?? 1, vpp: 1 },
      stage,
    );
    near(busy + bubble, expected, tolerance);
  },
  'bubble-over-ideal': simple((inputs) => {
    const perRank = new Array<number>(shapeOf(inputs).pp).fill(3);
    const stage = { perRank, send: 0, isSendHidden: true };
    const { busy, bubble } = scheduleOf(shapeOf(inputs)).seconds(shapeOf(inputs), stage);
    return bubble / busy;
  }),
  days: simple(daysAt),
  'hours-and-cost': ({ inputs: { tokens = 1, per_T = 1 }, expected, tolerance }) => {
    const [pretrainHours = 0, allHours = 0, allCost = 0, daysPerTrillion = 0] = expected as number[];
    const problem = problemOf({ numAccelerators: 2048, globalBatchSize: 2048, seqLen: 4096, tokens: 1e12 });
    const stepSeconds = (per_T * 3600 * (2048 * 4096)) / 1e12 / 2048;
    const totals = runTotals(problem, stepSeconds);
    near(totals.days ?? NaN, daysPerTrillion, tolerance);
    near(((totals.acceleratorHours ?? NaN) * tokens) / 1e12, pretrainHours, tolerance);
    near((totals.cost ?? NaN) / (totals.acceleratorHours ?? NaN), allCost / allHours, tolerance);
  },
};

const one = vectors.filter(({ check }) => check !== 'collective');

describe.each(['1', '2', '3', '5', '6', '7'])('vectors of section %s', (section) => {
  test.each(one.filter((vector) => vector.section === section))('$id', (vector) => {
    const check = checks[vector.check];
    if (check === undefined) throw new Error(`no check ${vector.check}`);
    check(vector);
  });
});

describe('measured collectives of one node', () => {
  const accelerators = { A100: 'a100-sxm', H100: 'h100-sxm' } as const;
  const ops: Record<string, CollectiveOp> = {
    all_reduce: 'allReduce',
    all_gather: 'allGather',
    reduce_scatter: 'reduceScatter',
    alltoall: 'allToAll',
  };
  const errors = vectors
    .filter(({ check }) => check === 'collective')
    .map(({ id, inputs, expected, tolerance }) => {
      const op = ops[inputs.op];
      const curves = calibration.kernels.accelerators[accelerators[inputs.gpu as 'A100']];
      if (op === undefined || curves === undefined) throw new Error(`unknown ${inputs.op} on ${inputs.gpu}`);
      const call = { op, bytes: pick(inputs, 'bytes'), numRanks: pick(inputs, 'n') };
      const error = Math.abs(collectiveSeconds(curves.collective, call) / Number(expected) - 1);
      return { id, error, misses: error > tolerance };
    });

  /** Where the library changes its protocol the smooth curve is off by more than the 15 % of the vectors. */
  const knownMisses = [
    'nccl.A100.all_gather.n2.2097152B',
    'nccl.A100.all_gather.n4.2097152B',
    'nccl.A100.all_reduce.n2.2097152B',
    'nccl.A100.reduce_scatter.n2.2097152B',
    'nccl.A100.reduce_scatter.n4.2097152B',
    'nccl.H100.all_gather.n8.16777216B',
    'nccl.H100.all_reduce.n2.2097152B',
    'nccl.H100.all_reduce.n4.16384B',
    'nccl.H100.all_reduce.n8.2097152B',
    'nccl.H100.alltoall.n8.16384B',
  ];

  test('are met within their tolerance, ten known ones aside', () => {
    expect(errors).toHaveLength(120);
    const misses = errors.filter((row) => row.misses).map((row) => row.id);
    expect(misses.filter((id) => !knownMisses.includes(id))).toEqual([]);
  });

  test('are met within 4 % in the middle', () => {
    const sorted = errors.map(({ error }) => error).sort((a, b) => a - b);
    expect(sorted[60]).toBeLessThan(0.04);
  });
});

test('vectors left for later are counted by reason', () => {
  const counts = Object.fromEntries(Object.entries(file.later).map(([reason, ids]) => [reason, ids.length]));
  expect(counts).toMatchInlineSnapshot(`
    {
      "NCCL’s own tuning model: the engine takes measured curves instead": 5,
      "ZeRO 2 and 3 or DeepSpeed’s bytes per parameter: not planned yet": 8,
      "a published run whose split is not fully stated: judged by validate, not by a formula": 21,
      "a schedule that is not planned yet": 82,
      "another FLOP convention than the one the engine prints (full-square attention, Korthikanti eq. 7)": 20,
      "asynchronous sends in plain 1F1B: Megatron-LM blocks there, and so does the engine": 4,
      "context parallelism: not planned yet": 4,
      "mixture of experts: not planned yet": 29,
      "needs the event simulator: the closed form is an upper bound here": 2,
      "no B200 in the catalog yet": 60,
      "the paper’s short form 8TP ÷ nX leaves 2–3 % of the FLOPs out; the engine counts them all": 1,
      "the two further all-gathers of sequence parallelism run hidden and are not counted as communication": 2,
      "whole-run planning (scaling laws, failures, checkpoints, energy): not planned yet": 29,
    }
  `);
  expect(new Set([...byId.keys(), ...Object.values(file.later).flat()]).size).toBe(559);
});
