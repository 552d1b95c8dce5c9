/**
 * The layers of a model: from its fields to a list of distinct kinds and the order in which they stand.
 * The plain fields describe dense, latent-attention and mixture-of-experts decoders; `layerKinds` and `layerPattern`
 * describe everything else.
 */
import type { LayerKind, Mixer } from './schema/layers.ts';
import type { Model } from './schema/model.ts';

/** Distinct kinds, and for each layer the index of its kind. */
export interface LayerStack {
  names: string[];
  kinds: LayerKind[];
  order: number[];
}

function mixerOf(model: Model): Mixer {
  const { mla, numHeads, numKvHeads, headDim } = model;
  if (mla !== null) return { type: 'mla', numHeads, ...mla, outputGate: false, window: null, indexer: null };
  return {
    type: 'attention',
    numHeads,
    numKvHeads,
    headDim,
    valueHeadDim: null,
    qkvBias: model.qkvBias,
    // the output projection has a bias only where every linear layer has one, which is the GPT style
    outputBias: model.qkvBias && model.ffnBias,
    qkNorm: model.qkNorm ? 'head' : 'none',
    outputGate: false,
    sharedKeyValue: false,
    window: model.slidingWindow,
    sinks: false,
  };
}

const around = { norms: 2, parallel: false, otherParameters: 0 };

function denseKind(model: Model): LayerKind {
  return {
    mixer: mixerOf(model),
    ffn: { type: 'dense', width: model.ffnHiddenSize, gated: model.gatedFfn, bias: model.ffnBias },
    ...around,
  };
}

function expertKind(model: Model): LayerKind | null {
  const { moe } = model;
  if (moe === null) return null;
  return {
    mixer: mixerOf(model),
    ffn: {
      type: 'moe',
      numExperts: moe.numExperts,
      expertsPerToken: moe.expertsPerToken,
      expertWidth: moe.expertFfnHiddenSize,
      gated: model.gatedFfn,
      bias: false,
      sharedWidth: moe.sharedExpertFfnHiddenSize,
      sharedGate: moe.sharedExpertGate,
      latentSize: null,
      routerBias: false,
    },
    ...around,
  };
}

function plainStack(model: Model): LayerStack {
  const dense = denseKind(model);
  const expert = expertKind(model);
  if (expert === null || model.moe === null)
    return { names: ['layer'], kinds: [dense], order: new Array<number>(model.numLayers).fill(0) };
  const { denseFirst, everyN } = model.moe;
  const isExpert = (layer: number) => layer >= denseFirst && (layer - denseFirst) % everyN === everyN - 1;
  const order = Array.from({ length: model.numLayers }, (_, layer) => (isExpert(layer) ? 1 : 0));
  return distinct(['dense', 'experts'], [dense, expert], order);
}

/** Leaves out kinds that no layer is of. */
function distinct(names: string[], kinds: LayerKind[], order: number[]): LayerStack {
  const used = [...new Set(order)].sort((a, b) => a - b);
  return {
    names: used.map((index) => names[index] ?? ''),
    kinds: used.flatMap((index) => kinds[index] ?? []),
    order: order.map((index) => used.indexOf(index)),
  };
}

/** The main part of a pattern in letters: `|` cuts it into pipeline stages, and what follows `/` is multi-token prediction. */
const lettersOf = (pattern: string): string => (pattern.split('/')[0] ?? '').replaceAll(/[|\s]/g, '');

/** Layers of a pattern in letters. */
export const patternLength = (pattern: string): number => lettersOf(pattern).length;

/**
 * Kinds that Megatron's letters stand for where the model names none of its own: one part per layer, each with a norm.
 * `M` is Mamba-2 with Megatron-LM's defaults: heads of 64, a state of 128, 8 groups, twice the hidden size, kernel 4.
 */
function letterKinds(model: Model): Record<string, LayerKind> {
  const alone = { norms: 1, parallel: false, otherParameters: 0 };
  const dense = denseKind(model);
  const experts = expertKind(model);
  return {
    M: {
      mixer: {
        type: 'mamba2',
        numHeads: Math.max(1, Math.round((2 * model.hiddenSize) / 64)),
        headDim: 64,
        stateSize: 128,
        numGroups: 8,
        convKernel: 4,
        convBias: true,
        projectionBias: false,
      },
      ffn: { type: 'none' },
      ...alone,
    },
    '*': { mixer: dense.mixer, ffn: { type: 'none' }, ...alone },
    '-': { mixer: { type: 'none' }, ffn: dense.ffn, ...alone },
    ...(experts === null ? {} : { E: { mixer: { type: 'none' } as const, ffn: experts.ffn, ...alone } }),
  };
}

/** The named kinds of a model; those of Megatron's letters where its pattern is written in them. */
function kindsOf(model: Model): Record<string, LayerKind> | null {
  if (model.layerKinds !== null) return model.layerKinds;
  return typeof model.layerPattern === 'string' ? letterKinds(model) : null;
}

/** Kind names of the pattern in order; null where a name is not among the kinds. */
function patternOrder(model: Model, names: readonly string[]): number[] | null {
  const { layerPattern } = model;
  if (layerPattern === null) return null;
  if (typeof layerPattern === 'string') {
    const order = Array.from(lettersOf(layerPattern), (letter) => names.indexOf(letter));
    return order.includes(-1) ? null : order;
  }
  const order = layerPattern.flatMap(({ kind, count }) => new Array<number>(count).fill(names.indexOf(kind)));
  return order.includes(-1) ? null : order;
}

/** What is wrong with the model's kinds and pattern, in words; null where nothing is. */
export function patternFault(model: Model): string | null {
  const kinds = kindsOf(model);
  if (kinds === null)
    return model.layerPattern === null ? null : 'layerPattern needs layerKinds, which say what its names mean';
  const names = Object.keys(kinds);
  if (model.layerPattern === null)
    return names.length === 1 ? null : `layerPattern is missing: it says which of ${names.join(', ')} each layer is`;
  const order = patternOrder(model, names);
  if (order === null) return `layerPattern names a kind that is not among ${names.join(', ')}`;
  return order.length === model.numLayers
    ? null
    : `layerPattern has ${order.length} layers, but numLayers is ${model.numLayers}`;
}

const stacks = new WeakMap<Model, LayerStack>();

/** The layers of a model; computed once per object. The pattern must be sound (`patternFault`). */
export function stackOf(model: Model): LayerStack {
  const known = stacks.get(model);
  if (known !== undefined) return known;
  const stack = buildStack(model);
  stacks.set(model, stack);
  return stack;
}

function buildStack(model: Model): LayerStack {
  const kinds = kindsOf(model);
  if (kinds === null) return plainStack(model);
  const names = Object.keys(kinds);
  const order = patternOrder(model, names) ?? new Array<number>(model.numLayers).fill(0);
  return distinct(names, Object.values(kinds), order);
}

/** How many of the layers `from` … `to` (exclusive) are of each kind. */
export function countKinds(stack: LayerStack, from: number, to: number): number[] {
  const counts = stack.kinds.map(() => 0);
  for (let layer = from; layer < to; layer++) {
    const kind = stack.order[layer];
    if (kind !== undefined) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
