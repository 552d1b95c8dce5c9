/**
 * FLOPs of a training step (one multiply-add = 2 FLOP), and the conventions behind MFU and HFU.
 *
 * Model FLOPs count every matmul of forward and backward once, attention over the full s×s square (the convention of
 * Korthikanti et al. 2022 eq. 7; stacks that count only the causal half print a smaller number for the same run).
 * Hardware FLOPs add what recomputation repeats. Utilisation is either ÷ (stepSeconds · accelerators · dense peak).
 * Source: MODEL §2.1–2.3.
 */
import type { Model, Plan } from '../../schema/index.ts';
import { numFfnMatrices, qkvWidth } from './parameters.ts';

export const FLOPS_CONVENTION =
  'MFU counts forward and backward matmuls once, attention over the full square, the head, no recomputation ' +
  '(Korthikanti et al. 2022 eq. 7); HFU adds recomputation; both against the dense peak of the compute precision.';

/** Forward FLOPs per token of one layer's linear maps: 2 × its matmul weights. */
export function layerLinearFlops(model: Model): number {
  const weights =
    model.hiddenSize * qkvWidth(model) +
    model.numHeads * model.headDim * model.hiddenSize +
    numFfnMatrices(model) * model.hiddenSize * model.ffnHiddenSize;
  return 2 * weights;
}

/** Forward FLOPs per token of one layer's core attention, QKᵀ and PV over all s keys: 4·s·a·dh. */
export function coreAttentionFlops(model: Model, seqLen: number): number {
  return 4 * seqLen * model.numHeads * model.headDim;
}

/** Forward FLOPs per token of the output head: 2·h·V (unpadded). */
export function headFlops(model: Model): number {
  return 2 * model.hiddenSize * model.vocabSize;
}

/** Model FLOPs of one step over `numTokens` tokens: 3·(L·(linear + core) + head) per token. */
export function modelFlops(model: Model, seqLen: number, numTokens: number): number {
  const layer = layerLinearFlops(model) + coreAttentionFlops(model, seqLen);
  return 3 * (model.numLayers * layer + headFlops(model)) * numTokens;
}

/** FLOPs of one step that recomputation repeats: all layers once (full), core attention once (selective), or none. */
export function recomputedFlops(model: Model, seqLen: number, numTokens: number, recompute: Plan['recompute']): number {
  const core = coreAttentionFlops(model, seqLen);
  if (recompute.mode === 'full') return model.numLayers * (layerLinearFlops(model) + core) * numTokens;
  if (recompute.mode === 'selective') return model.numLayers * core * numTokens;
  return 0;
}
