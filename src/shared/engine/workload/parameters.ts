/**
 * Parameter counts: of a whole model, and of what one accelerator holds under a split.
 *
 * Legend: h = hiddenSize, f = ffnHiddenSize, a = numHeads, k = numKvHeads, dh = headDim, V = vocabSize, L = numLayers.
 * Source: MODEL §1; Narayanan et al. SC'21 eq. 2.
 */
import type { Model } from '../../schema/index.ts';

/** Parameters of one transformer layer by part, each with how tensor parallelism treats it. */
export interface LayerParameters {
  /** Split over tp: QKV and output projections, FFN matrices, biases of column-parallel matrices. */
  sharded: number;
  /** Held whole by every tp rank: norms and biases of row-parallel matrices. */
  replicated: number;
}

/** Norm parameters per position: RMSNorm has a scale, LayerNorm a scale and a shift. */
function normSize(model: Model): number {
  return model.normalization === 'layernorm' ? 2 * model.hiddenSize : model.hiddenSize;
}

/** Width of the fused QKV projection's output, elements per token: (a + 2k)·dh. */
export function qkvWidth(model: Model): number {
  return (model.numHeads + 2 * model.numKvHeads) * model.headDim;
}

/** Matrices of the FFN: up and down, and a gate where it is gated. */
export function numFfnMatrices(model: Model): number {
  return model.gatedFfn ? 3 : 2;
}

/**
 * Parameters of one dense layer.
 *   attention   h·(a+2k)·dh + a·dh·h          weights
 *             + (a+2k)·dh  [+ h for GPT]       biases
 *   FFN         2·h·f or 3·h·f                 weights
 *             + f + h                          biases
 *   norms       2 × (h or 2h), + 2·dh          pre-attention, pre-FFN, per-head QK-norm
 */
export function layerParameters(model: Model): LayerParameters {
  const { hiddenSize: h, ffnHiddenSize: f } = model;
  const attentionWidth = model.numHeads * model.headDim;
  // the output projection has a bias only where every linear layer has one, which is the GPT style
  const outputBias = model.qkvBias && model.ffnBias ? h : 0;
  const sharded =
    h * qkvWidth(model) +
    attentionWidth * h +
    (model.qkvBias ? qkvWidth(model) : 0) +
    numFfnMatrices(model) * h * f +
    (model.ffnBias ? f * (model.gatedFfn ? 2 : 1) : 0);
  const replicated =
    2 * normSize(model) + (model.qkNorm ? 2 * model.headDim : 0) + outputBias + (model.ffnBias ? h : 0);
  return { sharded, replicated };
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

/** All parameters of the model, before any padding of the vocabulary. */
export function totalParameters(model: Model): number {
  const layer = layerParameters(model);
  const outer = outerParameters(model);
  return (
    model.numLayers * (layer.sharded + layer.replicated) +
    outer.embedding +
    outer.positions +
    outer.head +
    outer.finalNorm
  );
}

/** Vocabulary padded to a multiple of 128·tp, as Megatron-LM pads it (make_vocab_size_divisible_by). */
export function paddedVocabSize(model: Model, tp: number): number {
  const unit = 128 * tp;
  return Math.ceil(model.vocabSize / unit) * unit;
}

/** Where a stage stands in the pipeline, which decides what it holds besides layers. */
export interface StagePlace {
  isFirst: boolean;
  isLast: boolean;
}

/**
 * Parameters that one accelerator of a stage holds.
 * Tied embeddings stand on the first and on the last stage (their gradients are summed between the two).
 */
export function stageParameters(model: Model, tp: number, numLayers: number, place: StagePlace): number {
  const layer = layerParameters(model);
  const outer = outerParameters(model);
  const vocabularyMatrix = (paddedVocabSize(model, tp) * model.hiddenSize) / tp;
  let parameters = numLayers * (layer.sharded / tp + layer.replicated);
  if (place.isFirst) parameters += vocabularyMatrix + outer.positions;
  if (place.isLast) parameters += outer.finalNorm;
  const holdsHeadMatrix = place.isLast && (!model.tiedEmbeddings || !place.isFirst);
  return holdsHeadMatrix ? parameters + vocabularyMatrix : parameters;
}
