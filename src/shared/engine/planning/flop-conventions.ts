/**
 * FLOPs of training as different groups count them. A printed TFLOP/s or MFU means nothing without its convention: at
 * Llama 3.1 8B with 8,192 tokens they differ by up to a quarter for the same run.
 *
 * Legend: per token and step, forward and backward. N all parameters, N_e those of the input embedding, L layers, h hidden,
 * a·dh attention width, s tokens, V vocabulary (unpadded); linear, core and head as workload/flops.ts.
 * Source: MODEL §2.2.
 */
import type { Model } from '../../schema/index.ts';
import { stackOf } from '../../layer-stack.ts';
import { headFlops, layersFlops, modelFlops } from '../workload/flops.ts';
import { activeParameters, outerParameters } from '../workload/parameters.ts';

export interface FlopConvention {
  readonly label: string;
  /** What it counts that others do not, or leaves out. */
  readonly about: string;
  readonly source: string;
  /** FLOP per token, forward and backward, over sequences of `seqLen`. */
  flopsPerToken(model: Model, seqLen: number): number;
}

/** Forward FLOPs per token of all routers, which the matmul count includes and Megatron-LM leaves out. */
function routerFlops(model: Model): number {
  const { kinds, order } = stackOf(model);
  const perKind = kinds.map(({ ffn }) => (ffn.type === 'moe' ? 2 * model.hiddenSize * ffn.numExperts : 0));
  return order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0);
}

/** Norms of latent attention, which Megatron-LM counts as one multiply-add per element. */
function latentNormFlops(model: Model): number {
  const { kinds, order } = stackOf(model);
  const perKind = kinds.map(({ mixer }) =>
    mixer.type === 'mla' ? 2 * ((mixer.qLoraRank ?? 0) + mixer.kvLoraRank) : 0,
  );
  return order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0);
}

/**
 * Multi-token prediction as Megatron-LM counts it: per depth one more head, the projection of two hidden states into one
 * (2h²) and three norms (3h). The depth's own layer is one of the model's last kind.
 */
function predictionFlops(model: Model, seqLen: number): number {
  if (model.mtpLayers === 0) return 0;
  const { hiddenSize: h } = model;
  const last = { ...model, numLayers: 1, mtpLayers: 0, layerPattern: null, ...lastKind(model) };
  const { linear, core } = layersFlops(last, seqLen);
  const perDepth =
    3 * (linear + latentNormFlops(last) - routerFlops(last) + headFlops(model)) + 1.5 * core + 6 * (2 * h * h + 3 * h);
  return model.mtpLayers * perDepth;
}

/** The last layer's kind as the only one. */
function lastKind(model: Model): Pick<Model, 'layerKinds' | 'moe' | 'mla'> {
  const { kinds, order } = stackOf(model);
  const kind = kinds[order.at(-1) ?? 0];
  return { layerKinds: kind === undefined ? null : { last: kind }, moe: null, mla: null };
}

function megatron(model: Model, seqLen: number): number {
  const { linear, core } = layersFlops(model, seqLen);
  return (
    3 * (linear + latentNormFlops(model) - routerFlops(model) + headFlops(model)) +
    1.5 * core +
    predictionFlops(model, seqLen)
  );
}

function palm(model: Model, seqLen: number): number {
  const { numLayers, numHeads, headDim } = model;
  return 6 * activeParameters(model) + 12 * numLayers * numHeads * headDim * seqLen;
}

function torchTitan(model: Model, seqLen: number): number {
  const { core } = layersFlops(model, seqLen);
  const { embedding } = outerParameters(model);
  const inner = activeParameters(model) - (model.tiedEmbeddings ? 0 : embedding);
  return 6 * inner + 3 * core;
}

function nemo(model: Model, seqLen: number): number {
  const { numLayers, hiddenSize: h, numHeads: a, numKvHeads: k, ffnHiddenSize: f, vocabSize } = model;
  return numLayers * h ** 2 * (12 + (12 * k) / a + (18 * f) / h + (6 * seqLen) / h + (6 * vocabSize) / (numLayers * h));
}

/** Every convention by its short name. */
export const flopConventions = {
  matmuls: {
    label: 'every matmul, full attention',
    about: 'forward and backward matmuls once, attention over the full square, the head; what this program prints',
    source: 'Korthikanti et al. 2022 eq. 7 (model FLOPs)',
    flopsPerToken: (model, seqLen) => modelFlops(model, seqLen, 1),
  },
  'korthikanti-hardware': {
    label: 'Korthikanti hardware FLOPs',
    about:
      'adds selective recomputation as printed: core attention three times more, where recomputation repeats it once',
    source: 'Korthikanti et al. 2022 eq. 8',
    flopsPerToken: (model, seqLen) => {
      const { linear, core } = layersFlops(model, seqLen);
      return 3 * (linear + 2 * core + headFlops(model));
    },
  },
  sc21: {
    label: 'SC’21',
    about: 'includes full recomputation of the layers (×4 instead of ×3), not of the head',
    source: 'Narayanan et al. SC’21 eq. 3',
    flopsPerToken: (model, seqLen) => {
      const { linear, core } = layersFlops(model, seqLen);
      return 4 * (linear + core) + 3 * headFlops(model);
    },
  },
  'sc21-short': {
    label: 'SC’21, short form',
    about: '8 FLOP per parameter: recomputation, without attention’s square; 2–3 % below eq. 3',
    source: 'Narayanan et al. SC’21 eq. 4',
    flopsPerToken: (model) => 8 * activeParameters(model),
  },
  'megatron-lm': {
    label: 'Megatron-LM',
    about: 'attention counts its causal half; the router is left out',
    source: 'Megatron-LM training.py at d98e8a64',
    flopsPerToken: megatron,
  },
  nemo: {
    label: 'NeMo llama3',
    about: 'as Megatron-LM, but takes the attention width for the hidden size; dense Llama only',
    source: 'NeMo flops_formulas.py at 8cfedd7',
    flopsPerToken: nemo,
  },
  torchtitan: {
    label: 'torchtitan',
    about: 'parameters without the input embedding, full attention',
    source: 'torchtitan utils.py at b5bcd76',
    flopsPerToken: torchTitan,
  },
  palm: {
    label: 'PaLM',
    about: 'all parameters, the embedding included, and full attention',
    source: 'Chowdhery et al. 2022, appendix B',
    flopsPerToken: palm,
  },
  'llm-foundry': {
    label: 'LLM Foundry',
    about: 'as PaLM with the hidden size for the attention width; its HFU multiplies by 4/3',
    source: 'llm-foundry scripts/train/benchmarking at 8c8dd48',
    flopsPerToken: (model, seqLen) => 6 * activeParameters(model) + 12 * model.numLayers * model.hiddenSize * seqLen,
  },
  'six-n': {
    label: '6·N',
    about: 'six FLOP per active parameter, no attention',
    source: 'Kaplan et al. 2020',
    flopsPerToken: (model) => 6 * activeParameters(model),
  },
} as const satisfies Record<string, FlopConvention>;

export type FlopConventionName = keyof typeof flopConventions;

/** FLOP per token of a model by a convention. */
export function flopsPerTokenBy(name: FlopConventionName, model: Model, seqLen: number): number {
  return flopConventions[name].flopsPerToken(model, seqLen);
}

/** A figure printed by one convention (FLOP/s, MFU) as another would have printed it for the same run. */
export function convertFlops(
  printed: number,
  { from, to }: { from: FlopConventionName; to: FlopConventionName },
  model: Model,
  seqLen: number,
): number {
  return printed * (flopsPerTokenBy(to, model, seqLen) / flopsPerTokenBy(from, model, seqLen));
}

/** Utilisation: FLOPs of a step ÷ what all accelerators could do in its time at their dense peak. */
export function utilisation(
  stepFlops: number,
  {
    stepSeconds,
    numAccelerators,
    peakFlopsPerSecond,
  }: { stepSeconds: number; numAccelerators: number; peakFlopsPerSecond: number },
): number {
  return stepFlops / (stepSeconds * numAccelerators * peakFlopsPerSecond);
}
