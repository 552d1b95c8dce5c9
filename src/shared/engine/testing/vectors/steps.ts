/**
 * Measured steps and runs: B200 steps (section 4), Korthikanti's table 5, Llama 3's table 4, MegaScale's table 2 (section 7)
 * and the figures of SC'21 (section 9), each as a whole plan. They say how far the step model is from measurements; no
 * tolerance is asked of them here (`trainyard validate` and the calibration are judged by runs of their own).
 */
import type { Estimate, Model, PlanInput } from '../../../schema/index.ts';
import { GIB } from '../../../units.ts';
import { evaluatePlan } from '../../evaluate.ts';
import { modelOf } from '../catalog.ts';
import { problemOf, type Choices } from '../problems.ts';
import { gpt, mixture } from './models.ts';
import { after, numbersOf, vectorOf, type Answer, type Numbers, type Vector } from './vectors.ts';

/** The plan's estimate; null where a rule refuses it. */
function estimateOf(choices: Choices, plan: PlanInput): Estimate | null {
  return evaluatePlan(problemOf(choices), plan).estimate;
}

/** `tp2`, `pp1`, … of a case's name. */
const degree = (name: string, key: string): number => Number(new RegExp(`_${key}(\\d+)`).exec(name)?.[1] ?? 1);

const simuMaxModels: Readonly<Record<string, () => Model>> = {
  llama3_70b: () => modelOf('llama-3.1-70b'),
  llama3_405b: () => modelOf('llama-3.1-405b'),
  deepseekv2: () => mixture(vectorOf('params.DeepSeek-V2').inputs),
  deepseekv3: () => mixture(vectorOf('params.DeepSeek-V3').inputs),
};

/** SimuMax's cases: 8 B200, micro-batch 1, 4,096 tokens unless named, `mbc` micro-batches, dense layers first. */
function simuMaxCase(name: string): { choices: Choices; plan: PlanInput } {
  const base = Object.keys(simuMaxModels).find((key) => name.startsWith(key)) ?? '';
  const model = simuMaxModels[base]?.();
  if (model === undefined) throw new Error(`unknown model of ${name}`);
  const [dp, ep] = [degree(name, 'dp'), degree(name, 'ep')];
  return {
    choices: {
      model: { ...model, numLayers: degree(name, 'l') },
      accelerator: 'b200-180gb-sxm',
      numAccelerators: 8,
      globalBatchSize: dp * degree(name, 'mbc'),
      seqLen: name.includes('_seq') ? degree(name, 'seq') : 4096,
      version: 'core 0.13',
    },
    plan: { tp: degree(name, 'tp'), pp: degree(name, 'pp'), cp: degree(name, 'cp'), ep, dp, microBatchSize: 1 },
  };
}

/** Milliseconds and GiB of the fullest stage. */
function simuMaxStep({ inputs }: Vector): unknown {
  const { choices, plan } = simuMaxCase(String(inputs['case']));
  const estimate = estimateOf(choices, plan);
  return estimate === null ? null : [estimate.stepSeconds * 1e3, estimate.peakMemoryBytes / GIB];
}

const selene: Choices = { accelerator: 'a100-80gb-sxm' };

/** Seconds with everything recomputed, and with selective recomputation and sequence parallelism (the paper's work). */
function kortSteps(inputs: Numbers): unknown {
  const { B = 1, gpus = 1, L = 1, t = 1, p = 1 } = inputs;
  const sized = { ...selene, model: gpt(inputs), numAccelerators: gpus, globalBatchSize: B, seqLen: 2048 };
  // table 3 of the paper: micro-batches of 4 and 1, three chunks per rank for 175B and 530B
  const plan = { tp: t, pp: p, microBatchSize: L === 48 ? 4 : 1, vpp: L === 96 || L === 105 ? 3 : 1 };
  const step = (version: string, mode: 'full' | 'selective', sequenceParallel: boolean) =>
    estimateOf({ ...sized, version }, { ...plan, sequenceParallel, recompute: { mode } })?.stepSeconds ?? null;
  return [step('2021', 'full', false), step('2022', 'selective', true)];
}

/** Seconds of one layer forward and backward (ms) of the 22B model. */
function kortLayer({ h = 1, heads = 1, s = 1, b = 1, t = 1 }: Numbers): unknown {
  const model = { ...gpt({ h, heads, s, L: 1 }), numLayers: 1 };
  const layer = (mode: 'none' | 'full' | 'selective', sequenceParallel: boolean) => {
    const choices = { ...selene, model, numAccelerators: t, globalBatchSize: b, seqLen: s, version: '2022' };
    const plan = { tp: t, microBatchSize: b, sequenceParallel, recompute: { mode } };
    const estimate = estimateOf(choices, plan);
    if (estimate === null) return null;
    const seconds = (label: string) => {
      const work = estimate.parts.children[0]?.children[0]?.children ?? [];
      return 1e3 * (work.find((part) => part.label.startsWith(label))?.seconds ?? 0);
    };
    return [seconds('Forward'), seconds('Backward') + seconds('Recomputation')];
  };
  return {
    baseline: layer('none', false),
    full: layer('full', false),
    selective: layer('selective', false),
    sel_sp: layer('selective', true),
  };
}

/** Seconds, MFU and days for 300 B tokens of a 175B model on A100s. */
function megaScale(inputs: Numbers): unknown {
  const { B = 1, gpus = 1, s = 1, V = 1, t = 1, p = 1, v = 1 } = inputs;
  const model = { ...gpt({ h: 12_288, heads: 96, L: 96, s, V }), tiedEmbeddings: true };
  const choices = { ...selene, model, numAccelerators: gpus, globalBatchSize: B, seqLen: s, tokens: 300e9 };
  const estimate = estimateOf({ ...choices, version: 'core 0.3' }, { tp: t, pp: p, vpp: v, microBatchSize: 1 });
  return estimate === null ? null : [estimate.stepSeconds, estimate.mfu, estimate.days];
}

/** Llama 3's table 4: the first six columns are the plan, then TFLOP/s and MFU. */
function llama3Row(row: readonly number[]): unknown {
  const [gpus = 1, tp = 1, cp = 1, pp = 1, dp = 1, seqLen = 1, perDp = 1] = row;
  const model = modelOf('llama-3.1-405b');
  const choices = { model, accelerator: 'h100-80gb-sxm', numAccelerators: gpus, globalBatchSize: dp * perDp, seqLen };
  const plan: PlanInput = { tp, cp, pp, dp, vpp: 1, microBatchSize: 1, layout: 'Et*7|(t*8|)*14t*7L' };
  const estimate = estimateOf(choices, plan);
  const rate = estimate === null ? null : (estimate.mfu * 989.4e12) / 1e12;
  return [gpus, tp, cp, pp, dp, seqLen, perDp, rate, estimate === null ? null : estimate.mfu];
}

/** TFLOP/s per accelerator as SC'21 counts: recomputation of everything included. */
function sc21Rate(model: Model, numAccelerators: number, globalBatchSize: number, plan: PlanInput): number | null {
  const choices = { ...selene, model, numAccelerators, globalBatchSize, seqLen: 2048, version: '2021' };
  const estimate = estimateOf(choices, { recompute: { mode: 'full' }, ...plan });
  return estimate === null ? null : (estimate.hfu * 312e12) / 1e12;
}

const gptOf = (L: number, h: number, heads: number) => gpt({ L, h, heads, s: 2048 });
const gpt175 = gptOf(96, 12_288, 96);

type Figure = (x: number, vector: Vector) => number | null;

/** The figures by the part of the id that names them; x is what the vector plots over. */
const figures: readonly [RegExp, Figure][] = [
  // weak scaling over pipeline ranks: 3 layers each, tensor-parallel 8
  [
    /^sc21\.fig11\.b/,
    (pp, { id }) => sc21Rate(gptOf(3 * pp, 20_480, 128), 8 * pp, Number(after(id, 'sc21.fig11.b')), { tp: 8, pp }),
  ],
  [/^sc21\.fig12\.noninterleaved/, (batch) => sc21Rate(gpt175, 96, batch, { tp: 8, pp: 12 })],
  [/^sc21\.fig12\.interleaved/, (batch) => sc21Rate(gpt175, 96, batch, { tp: 8, pp: 12, vpp: 2 })],
  [
    /^sc21\.fig16\.b/,
    (microBatchSize, { id }) =>
      sc21Rate(gptOf(48, 12_288, 96), 64, Number(after(id, 'sc21.fig16.b')), { tp: 8, pp: 8, microBatchSize }),
  ],
  [/^sc21\.fig18\.scatter_gather/, (batch) => sc21Rate(gpt175, 96, batch, { tp: 8, pp: 12, vpp: 2 })],
  [
    /^sc21\.fig18\.unopt/,
    (batch) => sc21Rate(gpt175, 96, batch, { tp: 8, pp: 12, vpp: 2, runtime: { scatterGather: false } }),
  ],
  [/^sc21\.fig7$/, (b) => sc21Rate(gptOf(4, 4096, 128), 1, b, { microBatchSize: b, recompute: { mode: 'none' } })],
  [/^sc21\.fig14\.b/, (pp, { id }) => sc21Rate(gptOf(32, 3840, 32), 64, batchIn(id), { pp })],
  [/^sc21\.fig15/, (tp) => sc21Rate(gptOf(32, 3840, 32), 64, 512, { tp })],
];

const batchIn = (id: string): number => Number(/\.b(\d+)/.exec(id)?.[1] ?? 1);

function figureValues(vector: Vector): unknown {
  const figure = figures.find(([ids]) => ids.test(vector.id))?.[1];
  if (figure === undefined) return null;
  return (vector.inputs['x'] as number[]).map((x) => figure(x, vector));
}

/** Figure 13: batch sizes 32 and 128 at tensor-parallel 8, pipeline 8. */
const figure13 = () => [32, 128].map((batch) => sc21Rate(gptOf(32, 20_480, 128), 64, batch, { tp: 8, pp: 8 }));

/** Sequences per second of the 145B model on 128 A100s, with and without recomputation. */
function figure17({ id, inputs }: Vector): unknown {
  const recompute = { mode: id.includes('norecompute') ? ('none' as const) : ('full' as const) };
  return (inputs['x'] as number[]).map((batch) => {
    const model = gptOf(80, 12_288, 96);
    const choices = { ...selene, model, numAccelerators: 128, globalBatchSize: batch, seqLen: 2048, version: '2021' };
    const estimate = estimateOf(choices, { tp: 8, pp: 16, recompute });
    return estimate === null ? null : batch / estimate.stepSeconds;
  });
}

/**
 * Section 5.8: fused against unfused element-wise kernels. The paper does not state the runs; the 175B model as in figure 12
 * (135 TFLOP/s at batch 60), the 530B model on two pipelines of 35 stages.
 */
function fusion(): unknown {
  const rates = (model: Model, gpus: number, batch: number, pp: number) =>
    [false, true].map((fusedKernels) => sc21Rate(model, gpus, batch, { tp: 8, pp, runtime: { fusedKernels } }));
  return [rates(gpt175, 96, 60, 12), rates(gptOf(105, 20_480, 128), 560, 280, 35)];
}

export const stepAnswers: readonly Answer[] = [
  { ids: /^b200\.e2e\./, by: 'evaluatePlan', value: simuMaxStep },
  { ids: /^kort\.t5\.time\./, by: 'evaluatePlan', value: (vector) => kortSteps(numbersOf(vector)) },
  { ids: /^kort\.t4$/, by: 'evaluatePlan', value: (vector) => kortLayer(numbersOf(vector)) },
  { ids: /^megascale\./, by: 'evaluatePlan', value: (vector) => megaScale(numbersOf(vector)) },
  {
    ids: /^llama3\.t4$/,
    by: 'evaluatePlan',
    value: (vector) => (vector.expected as number[][]).map((row) => llama3Row(row)),
  },
  { ids: /^sc21\.fig13/, by: 'evaluatePlan', value: figure13 },
  { ids: /^sc21\.fig17/, by: 'evaluatePlan', value: figure17 },
  { ids: /^sc21\.fusion$/, by: 'evaluatePlan', value: fusion },
  { ids: /^sc21\.fig(7|11\.b|12|14|15|16|18)/, by: 'evaluatePlan', value: figureValues },
];
