/**
 * Linear attention with a fixed decay per head (lightning attention, MiniMax-01): queries, keys and values of full width,
 * a state of dh × dh per head, an output norm and an output gate.
 * Source: MiniMax-01 report (arXiv 2501.08313 §2.2): 4·h·a·dh for inputs and gate, a·dh·h for the output, a·dh for the norm.
 */
import type { MixerOf } from '../../../schema/index.ts';
import { recurrentOperators, recurrentTensors, type Recurrent } from './recurrent.ts';
import type { Part } from './types.ts';

type LinearAttention = MixerOf<'linear-attention'>;

function layerOf({ numHeads, headDim }: LinearAttention): Recurrent {
  const inner = numHeads * headDim;
  return {
    label: 'Linear attention',
    projected: 4 * inner,
    convolved: 0,
    inner,
    scanFlops: 4 * inner * headDim,
    scanElements: 4 * inner,
  };
}

export const linearAttention: Part<LinearAttention> = {
  parameters: (spec, { hiddenSize: h }) => {
    const { projected, inner } = layerOf(spec);
    return { sharded: h * projected + inner * h + inner, replicated: 0, routed: 0, activeRouted: 0 };
  },
  linearFlops: (spec, { hiddenSize: h }) => 2 * h * (layerOf(spec).projected + layerOf(spec).inner),
  coreFlops: (spec) => layerOf(spec).scanFlops,
  operators: (spec, context) => recurrentOperators(layerOf(spec), context),
  tensors: (spec, context) => recurrentTensors(layerOf(spec), context),
  words: ({ numHeads, headDim }) => `linear attention, ${numHeads} heads of ${headDim}`,
  splitSizes: ({ numHeads }) => [
    { over: 'tp', size: numHeads, what: `${numHeads} attention heads`, rule: 'heads-divide-tp' },
  ],
};
