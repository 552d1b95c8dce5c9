/** Section 3: memory. */
import { stackOf } from '../../../layer-stack.ts';
import type { Model, PlanInput } from '../../../schema/index.ts';
import { GIB } from '../../../units.ts';
import { layerActivationBytes, memoryMoments, stageMemoryItems } from '../../memory/index.ts';
import { schedules } from '../../pipeline/schedules/index.ts';
import { completePlan } from '../../plan.ts';
import { kindParameters, paddedVocabSize, rankParameters } from '../../workload/parameters.ts';
import { modelOf } from '../catalog.ts';
import { problemOf, type Choices } from '../problems.ts';
import { gpt, llama } from './models.ts';
import { missOf, numbersOf, type Answer, type Numbers, type Vector } from './vectors.ts';

function planned(choices: Choices, input: PlanInput) {
  const problem = problemOf(choices);
  return { problem, plan: completePlan(problem, input) };
}

interface Recompute {
  version: string | null;
  mode: 'none' | 'selective' | 'full';
}

/** Bytes of activations of one layer and micro-batch. */
function layerBytes(model: Model, inputs: Numbers, kind: Recompute): number {
  const { t = 1, b = 1, s = 1 } = inputs;
  const choices = { model, numAccelerators: t, globalBatchSize: b, seqLen: s, version: kind.version };
  const { plan } = planned(choices, {
    tp: t,
    microBatchSize: b,
    sequenceParallel: Boolean(inputs['sp']) && t > 1,
    recompute: { mode: kind.mode },
  });
  const [layer] = stackOf(model).kinds;
  if (layer === undefined) throw new Error('a model has at least one layer');
  return layerActivationBytes(model, layer, plan, s).kept;
}

/** Activations of the first stage, GiB. */
function kortActivations(inputs: Numbers, mode: 'none' | 'selective'): number {
  const { p = 1, interleave = 1, L = 1 } = inputs;
  const sized = { ...inputs, sp: mode === 'selective' ? 1 : 0 };
  const perLayer = layerBytes(gpt(inputs), sized, { version: '2022', mode });
  const shape = { pp: p, numMicroBatches: 10 * p, vpp: interleave };
  return ((L / p) * scheduleWith(interleave).inFlight(shape, 0) * perLayer) / GIB;
}

const scheduleWith = (vpp: number) => schedules[vpp > 1 ? 'interleaved-1f1b' : '1f1b'];

/** Weights, gradients and Adam's states of a rank of the middle of the pipeline, GiB. */
function kortStates(inputs: Numbers): number {
  const { L = 1, t = 1, p = 1 } = inputs;
  const model = gpt(inputs);
  const middle = { counts: [L / p], hasEmbedding: false, hasHead: false, mtpLayers: 0 };
  const { dense } = rankParameters(model, { tp: t, ep: 1, etp: 1 }, middle);
  const { workload } = problemOf({ precision: { compute: 'bf16', weights: 'bf16', gradients: 'fp32' } });
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, optimizerBytesPerParameter: o } = workload;
  return ((w + g + o) * dense) / GIB;
}

function logits({ V = 1, t = 1, s = 1, b = 1 }: Numbers): number {
  const { problem, plan } = planned(
    { model: { vocabSize: V }, numAccelerators: t, globalBatchSize: b, seqLen: s },
    { tp: t, microBatchSize: b, runtime: { fusedCrossEntropy: false } },
  );
  const item = stageMemoryItems(problem, plan, 0).find(({ label }) => label.startsWith('Logits'));
  // the vectors count the fp32 copy, 4 of the 6 bytes per logit, and do not pad the vocabulary
  return ((4 / 6) * (item?.bytes ?? 0) * V) / paddedVocabSize(problem.model, t);
}

/**
 * Bytes of weights, gradients and optimizer states per parameter of the model, sharded over d data-parallel ranks.
 * `optimizerBytes` where the vector states them: DeepSpeed keeps no fp32 copy of 16-bit gradients (K = 12).
 */
function stateBytes(d: number, zeroStage: ZeroStage, precision: Precision, optimizerBytes?: number): number {
  const choices = { numAccelerators: d, globalBatchSize: d, precision };
  const { problem, plan } = planned(choices, { sharding: { zeroStage } });
  const { workload, model } = problem;
  const sized =
    optimizerBytes === undefined
      ? problem
      : {
          ...problem,
          workload: {
            ...workload,
            optimizerBytesPerParameter: optimizerBytes,
            outerOptimizerBytesPerParameter: optimizerBytes,
            gradientCopyBytesPerParameter: 0,
          },
        };
  // at the update a rank holds its states, Megatron-LM's copies of gradients, and nothing else that counts per parameter
  const states = memoryMoments(sized, plan).find(({ id }) => id === 'update')?.parts ?? [];
  const perParameter = states.filter(
    ({ source, label }) => source.startsWith('bytes per parameter') || label.includes('copies of the gradients'),
  );
  const whole = { counts: [model.numLayers], hasEmbedding: true, hasHead: true, mtpLayers: 0 };
  const { dense } = rankParameters(model, { tp: 1, ep: 1, etp: 1 }, whole);
  return perParameter.reduce((sum, { bytes }) => sum + bytes, 0) / dense;
}

type ZeroStage = 0 | 1 | 2 | 3;
type Precision = NonNullable<Choices['precision']>;

function megatronBytes({ id, inputs }: Vector): number {
  const [, , weights = '', gradients = ''] = id.split('.');
  const compute = weights === 'fp16' ? 'fp16' : 'bf16';
  return stateBytes(Number(inputs['d']), 1, { compute, weights, gradients } as Precision);
}

/** GB of states of N parameters over d ranks. */
function zeroStates({ N = 1, d = 1, stage = 0 }: Numbers): number {
  const precision = { compute: 'bf16', weights: 'bf16', gradients: 'bf16' } as const;
  return (stateBytes(d, stage as ZeroStage, precision, 12) * N) / 1e9;
}

/** Weights gathered and gradients not yet scattered under ZeRO-3, for a layer of the vector's size. */
function gatheredUnits({ params_per_unit = 1 }: Numbers): number {
  // the layer, not the embedding, has to be the largest unit
  const model = { ...modelOf('llama-3.1-8b'), vocabSize: 32_000 };
  const { problem, plan } = planned({ model, globalBatchSize: 8 }, { sharding: { zeroStage: 3 } });
  const [layer] = kindParameters(model);
  if (layer === undefined) throw new Error('a model has at least one layer');
  const items = stageMemoryItems(problem, plan, 0).filter(
    ({ label }) => label.startsWith('Gathered weights') || label.startsWith('Gradients of one layer'),
  );
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  return (bytes / (layer.sharded + layer.replicated)) * params_per_unit;
}

export const memoryAnswers: readonly Answer[] = [
  { ids: /^kort\.fig1\.par_opt\./, by: 'rankParameters, Problem.workload', value: (v) => kortStates(numbersOf(v)) },
  {
    ids: /^kort\.fig1\.act_none\./,
    by: 'layerActivationBytes, Schedule.inFlight',
    value: (v) => kortActivations(numbersOf(v), 'none'),
  },
  {
    ids: /^kort\.fig1\.act_sp_sel\./,
    by: 'layerActivationBytes, Schedule.inFlight',
    value: (v) => kortActivations(numbersOf(v), 'selective'),
  },
  {
    ids: /^kort\.layer\./,
    by: 'layerActivationBytes',
    value: (v) =>
      layerBytes(gpt(numbersOf(v)), numbersOf(v), {
        version: '2022',
        mode: v.inputs['recompute'] as Recompute['mode'],
      }),
  },
  {
    ids: /^zero\./,
    by: 'memoryMoments',
    value: (v) => zeroStates(numbersOf(v)),
    // the paper prints one decimal: stage 3 is 1.875 GB, printed as 1.9
    judge: (vector, value) => missOf(vector, value) && missOf(vector, Number((value as number).toFixed(1))),
  },
  { ids: /^fsdp\.units$/, by: 'stageMemoryItems', value: (v) => gatheredUnits(numbersOf(v)) },
  { ids: /^mcore\.bytes\./, by: 'memoryMoments', value: megatronBytes },
  {
    ids: /^act\.llama\./,
    by: 'layerActivationBytes',
    value: (v) => layerBytes(llama(numbersOf(v)), numbersOf(v), { version: null, mode: 'none' }),
  },
  {
    ids: /^inflight\./,
    by: 'Schedule.inFlight',
    value: (v) => {
      const { p = 1, v: vpp = 1, m = 1 } = numbersOf(v);
      return scheduleWith(vpp).inFlight({ pp: p, vpp, numMicroBatches: m }, 0);
    },
  },
  { ids: /^logits\./, by: 'stageMemoryItems', value: (v) => logits(numbersOf(v)) },
];
