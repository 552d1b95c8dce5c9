/**
 * Parameter counts: of a whole model, and of what one accelerator holds under a split.
 *
 * Legend: h = hiddenSize, V = vocabSize. Source: MODEL §1; Narayanan et al. SC'21 eq. 2. The counts of each kind of
 * layer part stand with it in parts/.
 */
import type { LayerKind, Model } from '../../schema/index.ts';
import { forEach } from '../remember.ts';
import { stackOf } from '../../layer-stack.ts';
import { partParameters, type PartParameters } from './parts/index.ts';

/** Parameters of one norm over the hidden size: a scale and, in LayerNorm, a shift. */
function normSize({ normalization, hiddenSize }: Model): number {
  const perElement = { layernorm: 2, 'layernorm-no-bias': 1, 'layernorm-plain': 0, rmsnorm: 1 }[normalization];
  return perElement * hiddenSize;
}

/** Parameters of one layer by how a split treats them, norms included. */
export function layerParameters(model: Model, kind: LayerKind): PartParameters {
  const parts = partParameters(kind, model);
  return { ...parts, replicated: parts.replicated + kind.norms * normSize(model) + kind.otherParameters };
}

/** Parameters of one layer of each kind of the model's stack. */
export const kindParameters = forEach((model: Model): PartParameters[] =>
  stackOf(model).kinds.map((kind) => layerParameters(model, kind)),
);

interface OuterParameters {
  embedding: number;
  positions: number;
  head: number;
  finalNorm: number;
}

/** Parameters outside the layers. `head` is 0 for tied embeddings. */
export const outerParameters = forEach((model: Model): OuterParameters => {
  const width = model.embeddingSize ?? model.hiddenSize;
  const projections = width === model.hiddenSize ? 0 : width * model.hiddenSize;
  return {
    embedding: model.vocabSize * width + projections + (model.embeddingNorm ? normSize(model) : 0),
    positions: model.positions === 'learned' ? (model.maxPositions ?? 0) * model.hiddenSize : 0,
    head: (model.tiedEmbeddings ? 0 : model.vocabSize * width) + projections + (model.headBias ? model.vocabSize : 0),
    finalNorm: model.finalNorm ? normSize(model) : 0,
  };
});

function outside(model: Model): number {
  const outer = outerParameters(model);
  return (
    outer.embedding +
    outer.positions +
    outer.head +
    outer.finalNorm +
    model.otherParameters +
    (model.vision?.parameters ?? 0)
  );
}

/** All parameters of the model, before any padding of the vocabulary. */
export function totalParameters(model: Model): number {
  const kinds = kindParameters(model);
  const perKind = kinds.map(({ sharded, replicated, routed }) => sharded + replicated + routed);
  return stackOf(model).order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), outside(model));
}

/** Parameters that one token passes: everything but the experts it is not routed to (embeddings and head counted). */
export function activeParameters(model: Model): number {
  const kinds = kindParameters(model);
  const perKind = kinds.map(({ sharded, replicated, activeRouted }) => sharded + replicated + activeRouted);
  return stackOf(model).order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), outside(model));
}

/**
 * Active parameters as tables count them that go by the names of tensors: of all tensors called experts they take K/E,
 * and with `sharedCountAsRouted` the shared experts' down-projection is among them. Differs from `activeParameters`
 * by up to 2 % in families with shared experts; shown beside it, never used for FLOPs.
 */
export function activeParametersByName(model: Model, sharedCountAsRouted: boolean): number {
  const exact = activeParameters(model);
  if (!sharedCountAsRouted) return exact;
  const { kinds, order } = stackOf(model);
  const missed = kinds.map(({ ffn }) =>
    ffn.type === 'moe' ? model.hiddenSize * ffn.sharedWidth * (1 - ffn.expertsPerToken / ffn.numExperts) : 0,
  );
  return Math.round(exact - order.reduce((sum, kind) => sum + (missed[kind] ?? 0), 0));
}

/** Vocabulary padded to a multiple of 128·tp, as Megatron-LM pads it (make_vocab_size_divisible_by). */
export function paddedVocabSize(model: Model, tp: number): number {
  const unit = 128 * tp;
  return Math.ceil(model.vocabSize / unit) * unit;
}

/** Parameters on one rank of the embedding or of the head, with what projects it to the hidden size and back. */
export function vocabularyParameters(model: Model, tp: number): number {
  const { hiddenSize: h } = model;
  const width = model.embeddingSize ?? h;
  return (paddedVocabSize(model, tp) * width) / tp + (width === h ? 0 : width * h);
}

/** What one rank holds: layers of each kind, and ends of the model. */
export interface RankHolding {
  counts: readonly number[];
  hasEmbedding: boolean;
  hasHead: boolean;
  mtpLayers: number;
}

/** Parameters of one multi-token-prediction layer: a layer of the last kind, a projection 2h → h and three norms. */
export function mtpParameters(model: Model): PartParameters {
  const { order } = stackOf(model);
  const layer = kindParameters(model)[order.at(-1) ?? 0];
  const h = model.hiddenSize;
  return {
    sharded: (layer?.sharded ?? 0) + 2 * h * h,
    replicated: (layer?.replicated ?? 0) + 3 * normSize(model),
    routed: layer?.routed ?? 0,
    activeRouted: layer?.activeRouted ?? 0,
  };
}

/** Parameters on one accelerator: those that all its data-parallel peers hold too, and its share of the experts. */
export interface RankParameters {
  /** Over tp; sharded by ZeRO over the data-parallel group. */
  dense: number;
  /** Over ep·etp; sharded by ZeRO over the expert-data-parallel group. */
  experts: number;
  /** What of `dense` stands outside the layers. */
  outer: number;
}

/**
 * Parameters that one accelerator of a stage holds.
 * Tied embeddings stand on the first and on the last stage (their gradients are summed between the two).
 */
export function rankParameters(
  model: Model,
  { tp, ep, etp }: { tp: number; ep: number; etp: number },
  rank: RankHolding,
): RankParameters {
  const kinds = kindParameters(model);
  const outer = outerParameters(model);
  const vocabularyMatrix = vocabularyParameters(model, tp);
  let dense = 0;
  let experts = 0;
  kinds.forEach(({ sharded, replicated, routed }, kind) => {
    const count = rank.counts[kind] ?? 0;
    dense += count * (sharded / tp + replicated);
    experts += (count * routed) / (ep * etp);
  });
  if (rank.mtpLayers > 0) {
    const mtp = mtpParameters(model);
    dense += rank.mtpLayers * (mtp.sharded / tp + mtp.replicated);
    experts += (rank.mtpLayers * mtp.routed) / (ep * etp);
  }
  // prediction layers embed the next tokens themselves: their rank holds the embedding matrix, too
  let outside = 0;
  if (rank.mtpLayers > 0 && !rank.hasEmbedding && (!model.tiedEmbeddings || !rank.hasHead)) outside += vocabularyMatrix;
  if (rank.hasEmbedding) outside += vocabularyMatrix + outer.positions + (model.vision?.parameters ?? 0);
  if (rank.hasHead) outside += outer.finalNorm + model.otherParameters;
  if (rank.hasHead && (!model.tiedEmbeddings || !rank.hasEmbedding)) outside += vocabularyMatrix;
  return { dense: dense + outside, experts, outer: outside };
}
