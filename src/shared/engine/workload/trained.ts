/**
 * What a job trains: everything, or small adapters beside frozen weights (LoRA); a vision tower may stay frozen in both.
 *
 * LoRA adds to each adapted map x → y two matrices of rank r: r·(x + y) parameters. A part of a layer whose maps lead from
 * the hidden size h to an inner width and back has W = h·(sum of inner widths) weights, so its adapters have
 *   r·(2h + W/h): the halves at the inner widths are split over tp, those at the hidden size held whole
 * Each routed expert has adapters of its own. Frozen weights need no gradient of their own and no optimizer states; the
 * gradient of their input still passes through them, down to the lowest adapter.
 * Source: Hu et al. 2021 (LoRA, arXiv 2106.09685 §4.1).
 */
import type { Adapters, LayerKind, Model } from '../../schema/index.ts';
import { stackOf } from '../../layer-stack.ts';
import { rankParameters, totalParameters, type RankHolding, type RankParameters } from './parameters.ts';
import { partLinearFlops } from './parts/index.ts';

type Mixer = LayerKind['mixer'];

/** Parameters by how a split treats them. */
export interface AdapterCounts {
  sharded: number;
  replicated: number;
  routed: number;
}

const none: AdapterCounts = { sharded: 0, replicated: 0, routed: 0 };

/** Adapters of a part that leads from h to inner widths and back, from its weights. */
function between(rank: number, h: number, weights: number): AdapterCounts {
  return weights === 0 ? none : { sharded: (rank * weights) / h, replicated: 2 * rank * h, routed: 0 };
}

/** With `isInputAlone` the output projections of attention have none; other mixers have no queries and keep theirs. */
function mixerAdapters(mixer: Mixer, model: Model, rank: number, isInputAlone: boolean): AdapterCounts {
  const h = model.hiddenSize;
  if (mixer.type !== 'mla') {
    const alone: LayerKind = { mixer, ffn: { type: 'none' }, norms: 0, parallel: false, otherParameters: 0 };
    const all = between(rank, h, partLinearFlops(alone, model) / 2);
    if (!isInputAlone || mixer.type !== 'attention') return all;
    const output = mixer.numHeads * (mixer.valueHeadDim ?? mixer.headDim);
    return { ...all, sharded: all.sharded - rank * output, replicated: rank * h };
  }
  // queries, keys and values from their latents, and the output
  const queries = mixer.numHeads * (mixer.qkNopeHeadDim + mixer.qkRopeHeadDim);
  const keysAndValues = mixer.numHeads * (mixer.qkNopeHeadDim + mixer.vHeadDim);
  const output = isInputAlone ? 0 : mixer.numHeads * mixer.vHeadDim;
  return {
    sharded: rank * (queries + keysAndValues + output),
    replicated: rank * ((mixer.qLoraRank ?? h) + mixer.kvLoraRank + (isInputAlone ? 0 : h)),
    routed: 0,
  };
}

function ffnAdapters({ ffn }: LayerKind, { hiddenSize: h }: Model, rank: number): AdapterCounts {
  if (ffn.type === 'none') return none;
  const matrices = ffn.gated ? 3 : 2;
  if (ffn.type === 'dense') return between(rank, h, matrices * h * ffn.width);
  const input = ffn.latentSize ?? h;
  const shared = between(rank, h, matrices * h * ffn.sharedWidth);
  return { ...shared, routed: ffn.numExperts * rank * (2 * input + matrices * ffn.expertWidth) };
}

const adapts = (targets: Adapters['targets'], part: 'mixer' | 'ffn'): boolean =>
  part === 'ffn' ? targets.includes('ffn') : targets.includes('attention') || targets.includes('qkv');

/**
 * Whether the inputs of a part's linear maps are kept for a gradient of weights: of the maps themselves, or of adapters that
 * read them. A frozen map's backward reads its weights alone. Source: Megatron-LM tensor_parallel/layers.py
 * (LinearWithFrozenWeight); PyTorch's linear keeps its input only where the weight needs a gradient.
 */
export function keepsInputs(adapters: Adapters | null, part: 'mixer' | 'ffn'): boolean {
  return adapters === null || adapts(adapters.targets, part);
}

/** Adapters of one layer. */
export function layerAdapters(kind: LayerKind, model: Model, { rank, targets }: Adapters): AdapterCounts {
  const isInputAlone = !targets.includes('attention');
  const mixer = adapts(targets, 'mixer') ? mixerAdapters(kind.mixer, model, rank, isInputAlone) : none;
  const ffn = adapts(targets, 'ffn') ? ffnAdapters(kind, model, rank) : none;
  return {
    sharded: mixer.sharded + ffn.sharded,
    replicated: mixer.replicated + ffn.replicated,
    routed: mixer.routed + ffn.routed,
  };
}

/** Parameters of all adapters. */
export function adapterParameters(model: Model, adapters: Adapters): number {
  const { kinds, order } = stackOf(model);
  const perKind = kinds.map((kind) => {
    const { sharded, replicated, routed } = layerAdapters(kind, model, adapters);
    return sharded + replicated + routed;
  });
  return order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0);
}

const frozenVision = (model: Model): number => (model.vision?.frozen === true ? model.vision.parameters : 0);

/** Parameters that the optimizer updates: all but a frozen tower, or the adapters alone. */
export function trainedParameters(model: Model, adapters: Adapters | null): number {
  return adapters === null ? totalParameters(model) - frozenVision(model) : adapterParameters(model, adapters);
}

interface Degrees {
  tp: number;
  ep: number;
  etp: number;
}

/** What a rank trains, and what it holds without training it. */
export interface RankWeights {
  trained: RankParameters;
  frozen: RankParameters;
}

/** Trained and frozen parameters of one accelerator of a stage. */
export function rankWeights(model: Model, adapters: Adapters | null, degrees: Degrees, rank: RankHolding): RankWeights {
  const held = rankParameters(model, degrees, rank);
  const { tp, ep, etp } = degrees;
  if (adapters === null) {
    const vision = rank.hasEmbedding ? frozenVision(model) : 0;
    return {
      trained: { ...held, dense: held.dense - vision, outer: held.outer - vision },
      frozen: { dense: vision, experts: 0, outer: vision },
    };
  }
  let dense = 0;
  let experts = 0;
  stackOf(model).kinds.forEach((kind, index) => {
    const { sharded, replicated, routed } = layerAdapters(kind, model, adapters);
    const count = rank.counts[index] ?? 0;
    dense += count * (sharded / tp + replicated);
    experts += (count * routed) / (ep * etp);
  });
  return { trained: { dense, experts, outer: 0 }, frozen: held };
}
