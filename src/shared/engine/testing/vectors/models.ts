/** Models from the inputs of vectors. */
import { stackOf } from '../../../layer-stack.ts';
import type { Model } from '../../../schema/index.ts';
import { smallModel } from '../problems.ts';
import { numbersOf, pick, vectorOf, type Numbers, type Vector } from './vectors.ts';

/** A GPT of Narayanan et al. and Korthikanti et al.: tied embeddings, learned positions, biases, FFN of 4h. */
export function gpt(inputs: Numbers): Model {
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

/** A Llama-style model. */
export function llama(inputs: Numbers): Model {
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

type Attention = Pick<Model, 'numHeads' | 'numKvHeads' | 'headDim'> & Partial<Model>;

const latent = (numHeads: number, qLoraRank: number | null): Attention => ({
  numHeads,
  numKvHeads: numHeads,
  headDim: 128,
  mla: { qLoraRank, kvLoraRank: 512, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 },
});

/** Attention of the mixtures, whose vectors state only its parameters. Source: each model's config.json. */
const attentions: Readonly<Record<string, Attention>> = {
  'Mixtral-8x7B-v0.1': { numHeads: 32, numKvHeads: 8, headDim: 128 },
  'Mixtral-8x22B-v0.1': { numHeads: 48, numKvHeads: 8, headDim: 128 },
  'Qwen3-30B-A3B': { numHeads: 32, numKvHeads: 4, headDim: 128, qkNorm: true },
  'Qwen3-235B-A22B': { numHeads: 64, numKvHeads: 4, headDim: 128, qkNorm: true },
  'DeepSeek-V3': latent(128, 1536),
  'DeepSeek-V2': latent(128, 1536),
  'DeepSeek-V2-Lite': latent(16, null),
  'Kimi-K2-Instruct': latent(64, 1536),
  'OLMoE-1B-7B-0924': { numHeads: 16, numKvHeads: 16, headDim: 128 },
  'Qwen1.5-MoE-A2.7B': { numHeads: 16, numKvHeads: 16, headDim: 128, qkvBias: true },
};

/** The model with changes to its kinds of layers, which the plain fields cannot say. */
function withKinds(model: Model, change: (kind: Model['layerKinds'] & object) => void): Model {
  const { names, kinds, order } = stackOf(model);
  const layerKinds = Object.fromEntries(names.map((name, index) => [name, structuredClone(kinds[index])]));
  change(layerKinds as Model['layerKinds'] & object);
  const layerPattern = order.map((index) => ({ kind: names[index] ?? '', count: 1 }));
  return { ...model, layerKinds: layerKinds as Model['layerKinds'], layerPattern, moe: null, mla: null };
}

/** A mixture of experts by the name that its vector states. */
export function mixture(inputs: Vector['inputs']): Model {
  const numbers = inputs as Numbers;
  const name = String(inputs['model']);
  const attention = attentions[name];
  if (attention === undefined) throw new Error(`unknown attention of ${name}`);
  const model: Model = {
    ...smallModel,
    ...attention,
    numLayers: pick(numbers, 'L'),
    hiddenSize: pick(numbers, 'h'),
    ffnHiddenSize: numbers['f_dense'] || pick(numbers, 'f_moe'),
    vocabSize: pick(numbers, 'V'),
    moe: {
      numExperts: pick(numbers, 'E'),
      expertsPerToken: pick(numbers, 'topk'),
      expertFfnHiddenSize: pick(numbers, 'f_moe'),
      sharedExpertFfnHiddenSize: numbers['shared_f'] ?? 0,
      sharedExpertGate: inputs['shared_gate'] === true,
      denseFirst: numbers['k_dense'] ?? 0,
      everyN: 1,
      router: null,
    },
  };
  if (name !== 'OLMoE-1B-7B-0924') return model;
  // norms over the full width of queries and keys
  return withKinds(model, (kinds) => {
    for (const { mixer } of Object.values(kinds)) if (mixer.type === 'attention') mixer.qkNorm = 'full';
  });
}

/** DeepSeek-V3 with a trained router bias of one value per expert. */
export function withRouterBias(base: string): Model {
  const model = mixture(vectorOf(`params.${base}`).inputs);
  return withKinds(model, (kinds) => {
    for (const { ffn } of Object.values(kinds)) if (ffn.type === 'moe') ffn.routerBias = true;
  });
}

/** DeepSeek-V3 as the FLOP vectors spell it: `mla` holds q_r, kv_r, nope, rope, v. */
export function latentMixture(vector: Vector, mtpLayers: number): Model {
  const numbers = numbersOf(vector);
  const [qLoraRank = 0, kvLoraRank = 0, qkNopeHeadDim = 0, qkRopeHeadDim = 0, vHeadDim = 0] = vector.inputs[
    'mla'
  ] as number[];
  const base = mixture({ ...vector.inputs, model: 'DeepSeek-V3', k_dense: numbers['first_k_dense'] });
  const mla = { qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim };
  return {
    ...base,
    ffnHiddenSize: pick(numbers, 'f'),
    moe: base.moe === null ? null : { ...base.moe, sharedExpertFfnHiddenSize: pick(numbers, 'shared') },
    mla,
    mtpLayers,
  };
}
