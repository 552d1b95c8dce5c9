/**
 * Parameter counts: of a whole model, and of what one accelerator holds under a split.
 *
 * Legend: h = hiddenSize, V = vocabSize. Source: MODEL §1; Narayanan et al. SC'21 eq. 2. The counts of each kind of
 * layer part stand with it in parts/.
 */
import type { LayerKind, Model } from '../../schema/index.ts';
import { stackOf } from './layers.ts';
import { partParameters, type PartParameters } from './parts/index.ts';

/** Norm parameters per position: RMSNorm has a scale, LayerNorm a scale and a shift. */
function normSize(model: Model): number {
  return model.normalization === 'layernorm' ? 2 * model.hiddenSize : model.hiddenSize;
}

/** Parameters of one layer by how a split treats them, norms included. */
export function layerParameters(model: Model, kind: LayerKind): PartParameters {
  const parts = partParameters(kind, model);
  return { ...parts, replicated: parts.replicated + kind.norms * normSize(model) + kind.otherParameters };
}

const byModel = new WeakMap<Model, PartParameters[]>();

/** Parameters of one layer of each kind of the model's stack. */
export function kindParameters(model: Model): PartParameters[] {
  const known = byModel.get(model);
  if (known !== undefined) return known;
  const list = stackOf(model).kinds.map((kind) => layerParameters(model, kind));
  byModel.set(model, list);
  return list;
}

/** Parameters outside the layers. `head` is 0 for tied embeddings. */
export function outerParameters(model: Model): {
  embedding: number;
  positions: number;
  head: number;
  finalNorm: number;
} {
  return {
    embedding: model.vocabSize * model.hiddenSize,
    positions: model.positions === 'learned' ? (model.maxPositions ?? 0) * model.hiddenSize : 0,
    head: model.tiedEmbeddings ? 0 : model.vocabSize * model.hiddenSize,
    finalNorm: normSize(model),
  };
}

function outside(model: Model): number {
  const outer = outerParameters(model);
  return outer.embedding + outer.positions + outer.head + outer.finalNorm;
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

/** Vocabulary padded to a multiple of 128·tp, as Megatron-LM pads it (make_vocab_size_divisible_by). */
export function paddedVocabSize(model: Model, tp: number): number {
  const unit = 128 * tp;
  return Math.ceil(model.vocabSize / unit) * unit;
}

/** What one rank of a stage holds beside its layers. */
export interface StagePlace {
  isFirst: boolean;
  isLast: boolean;
}

/** Parameters on one accelerator: those that all its data-parallel peers hold too, and its share of the experts. */
export interface RankParameters {
  /** Over tp; sharded by ZeRO over the data-parallel group. */
  dense: number;
  /** Over ep·etp; sharded by ZeRO over the expert-data-parallel group. */
  experts: number;
}

/**
 * Parameters that one accelerator of a stage holds; `counts` says how many layers of each kind.
 * Tied embeddings stand on the first and on the last stage (their gradients are summed between the two).
 */
export function rankParameters(
  model: Model,
  { tp, ep, etp }: { tp: number; ep: number; etp: number },
  counts: readonly number[],
  place: StagePlace,
): RankParameters {
  const kinds = kindParameters(model);
  const outer = outerParameters(model);
  const vocabularyMatrix = (paddedVocabSize(model, tp) * model.hiddenSize) / tp;
  let dense = 0;
  let experts = 0;
  kinds.forEach(({ sharded, replicated, routed }, kind) => {
    const count = counts[kind] ?? 0;
    dense += count * (sharded / tp + replicated);
    experts += (count * routed) / (ep * etp);
  });
  if (place.isFirst) dense += vocabularyMatrix + outer.positions;
  if (place.isLast) dense += outer.finalNorm;
  if (place.isLast && (!model.tiedEmbeddings || !place.isFirst)) dense += vocabularyMatrix;
  return { dense, experts };
}
