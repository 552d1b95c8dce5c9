/**
 * FLOPs of a training step (one multiply-add = 2 FLOP), and the conventions behind MFU and HFU.
 *
 * Model FLOPs count every matmul of forward and backward once, attention over the full s×s square (the convention of
 * Korthikanti et al. 2022 eq. 7; stacks that count only the causal half print a smaller number for the same run).
 * Hardware FLOPs add what recomputation repeats. Utilisation is either ÷ (stepSeconds · accelerators · dense peak).
 * Source: MODEL §2.1–2.3.
 */
import type { Model, Plan } from '../../schema/index.ts';
import { stackOf } from '../../layer-stack.ts';
import { partCoreFlops, partLinearFlops } from './parts/index.ts';

export const FLOPS_CONVENTION =
  'MFU counts forward and backward matmuls once, attention over the full square, the head, no recomputation ' +
  '(Korthikanti et al. 2022 eq. 7); HFU adds recomputation; both against the dense peak of the compute precision.';

/** Forward FLOPs per token of all layers: linear maps, and what depends on the sequence. */
export function layersFlops(model: Model, seqLen: number): { linear: number; core: number } {
  const { kinds, order } = stackOf(model);
  const linear = kinds.map((kind) => partLinearFlops(kind, model));
  const core = kinds.map((kind) => partCoreFlops(kind, model, seqLen));
  const over = (perKind: readonly number[]) => order.reduce((sum, kind) => sum + (perKind[kind] ?? 0), 0);
  return { linear: over(linear), core: over(core) };
}

/** Forward FLOPs per token of the output head: 2·h·V (unpadded). */
export function headFlops(model: Model): number {
  return 2 * model.hiddenSize * model.vocabSize;
}

/** Model FLOPs of one step over `numTokens` tokens: 3·(Σ layers (linear + core) + head) per token. */
export function modelFlops(model: Model, seqLen: number, numTokens: number): number {
  const { linear, core } = layersFlops(model, seqLen);
  return 3 * (linear + core + headFlops(model)) * numTokens;
}

/** FLOPs of one step that recomputation repeats: all layers once (full), core attention once (selective), or none. */
export function recomputedFlops(model: Model, seqLen: number, numTokens: number, recompute: Plan['recompute']): number {
  const { linear, core } = layersFlops(model, seqLen);
  if (recompute.mode === 'full') return (linear + core) * numTokens;
  if (recompute.mode === 'selective') return core * numTokens;
  return 0;
}
