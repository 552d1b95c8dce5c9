/**
 * FLOPs of a training step (one multiply-add = 2 FLOP), and the conventions behind MFU and HFU.
 *
 * Model FLOPs count every matmul of forward and backward once, attention over the full s×s square (the convention of
 * Korthikanti et al. 2022 eq. 7; stacks that count only the causal half print a smaller number for the same run).
 * Hardware FLOPs add what recomputation repeats. Utilisation is either ÷ (stepSeconds · accelerators · dense peak).
 * Source: MODEL §2.1–2.3.
 */
import type { Adapters, LayerKind, Model, Plan } from '../../schema/index.ts';
import { layerAdapters } from './trained.ts';
import { stackOf } from '../../layer-stack.ts';
import { forEach } from '../remember.ts';
import { partCoreFlops, partLinearFlops } from './parts/index.ts';

export const FLOPS_CONVENTION =
  'MFU counts forward and backward matmuls once, attention over the full square, the head, no recomputation ' +
  '(Korthikanti et al. 2022 eq. 7); HFU adds recomputation; both against the dense peak of the compute precision.';

interface LayersFlops {
  linear: number;
  core: number;
}

const layersBySeqLen = forEach<Model, Map<number, LayersFlops>>(() => new Map());

/** Forward FLOPs per token of all layers: linear maps, and what depends on the sequence. Remembered. */
export function layersFlops(model: Model, seqLen: number): LayersFlops {
  const known = layersBySeqLen(model);
  let found = known.get(seqLen);
  if (found === undefined) known.set(seqLen, (found = sumOfLayers(model, seqLen)));
  return found;
}

function sumOfLayers(model: Model, seqLen: number): LayersFlops {
  const { kinds, order } = stackOf(model);
  const linear = kinds.map((kind) => partLinearFlops(kind, model));
  const core = kinds.map((kind) => partCoreFlops(kind, model, seqLen));
  const over = (perKind: readonly number[]) => order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0);
  return { linear: over(linear), core: over(core) };
}

/**
 * Forward FLOPs per token of the output head: 2·h·V (unpadded). Embeddings of another width e are projected to h and back:
 * 2·e·V and twice 2·e·h (OPT-350m's project_in and project_out; ALBERT, arXiv 1909.11942 §3.1).
 */
export function headFlops({ hiddenSize: h, embeddingSize, vocabSize }: Model): number {
  const width = embeddingSize ?? h;
  return 2 * width * vocabSize + (width === h ? 0 : 4 * width * h);
}

/** Forward FLOPs per token of the multi-token-prediction layers: a layer of the last kind, 4h² and the head, each. */
export function mtpFlops(model: Model, seqLen: number): LayersFlops {
  const { kinds, order } = stackOf(model);
  const kind = kinds[order.at(-1) ?? 0];
  if (model.mtpLayers === 0 || kind === undefined) return { linear: 0, core: 0 };
  return {
    linear: model.mtpLayers * (partLinearFlops(kind, model) + 4 * model.hiddenSize ** 2 + headFlops(model)),
    core: model.mtpLayers * partCoreFlops(kind, model, seqLen),
  };
}

/** Forward and the gradient of the input; a frozen map needs none of its weights. */
export const FROZEN_PASSES = 2;

/** Forward FLOPs per token of LoRA's adapters: 2 per parameter, of K of E experts' adapters. */
export function adapterFlops(model: Model, adapters: Adapters): number {
  const { kinds, order } = stackOf(model);
  const perKind = kinds.map((kind) => {
    const { sharded, replicated, routed } = layerAdapters(kind, model, adapters);
    const share = kind.ffn.type === 'moe' ? kind.ffn.expertsPerToken / kind.ffn.numExperts : 0;
    return 2 * (sharded + replicated + routed * share);
  });
  return order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0);
}

/**
 * Model FLOPs of one step over `numTokens` tokens: 3·(Σ layers (linear + core) + head) per token. Under LoRA frozen maps
 * need no gradient of their weights: 2·(linear + head) + 3·(core + adapters). Prediction layers count as layers, and head.
 */
export function modelFlops(model: Model, seqLen: number, numTokens: number, adapters: Adapters | null = null): number {
  const layers = layersFlops(model, seqLen);
  const mtp = mtpFlops(model, seqLen);
  const linear = layers.linear + headFlops(model) + mtp.linear;
  const core = layers.core + mtp.core;
  if (adapters === null) return 3 * (linear + core) * numTokens;
  return (FROZEN_PASSES * linear + 3 * (core + adapterFlops(model, adapters))) * numTokens;
}

/** Forward FLOPs per token of the parts of a layer that selective recomputation names. */
function moduleFlops(kind: LayerKind, model: Model, seqLen: number, modules: Plan['recompute']['modules']): number {
  const has = (module: (typeof modules)[number]) => modules.includes(module);
  const only = (part: 'mixer' | 'ffn'): LayerKind => ({
    ...kind,
    [part === 'mixer' ? 'ffn' : 'mixer']: { type: 'none' },
  });
  let flops = has('core-attention') ? partCoreFlops(kind, model, seqLen) : 0;
  if ((kind.ffn.type === 'dense' && has('mlp')) || (kind.ffn.type === 'moe' && has('moe')))
    flops += partLinearFlops(only('ffn'), model);
  else if (kind.ffn.type === 'moe' && has('shared-experts'))
    flops += 2 * (kind.ffn.gated ? 3 : 2) * model.hiddenSize * kind.ffn.sharedWidth;
  if (kind.mixer.type === 'mla' && has('mla-up-projection')) {
    const { numHeads, qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim } = kind.mixer;
    const queries = (qLoraRank ?? model.hiddenSize) * numHeads * (qkNopeHeadDim + qkRopeHeadDim);
    flops += 2 * (queries + kvLoraRank * numHeads * (qkNopeHeadDim + vHeadDim));
  }
  return flops;
}

/**
 * FLOPs of one step that recomputation repeats: all layers once (full; `share` of them where only some are recomputed),
 * the named modules once (selective), or none.
 */
export function recomputedFlops(
  model: Model,
  { seqLen, numTokens }: { seqLen: number; numTokens: number },
  recompute: Plan['recompute'],
  share = 1,
): number {
  if (recompute.mode === 'none') return 0;
  if (recompute.mode === 'full') {
    const { linear, core } = layersFlops(model, seqLen);
    return share * (linear + core) * numTokens;
  }
  const { kinds, order } = stackOf(model);
  const perKind = kinds.map((kind) => moduleFlops(kind, model, seqLen, recompute.modules));
  return order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0) * numTokens;
}
