/**
 * A gated convolution over the last few tokens: the input is projected to three streams of the hidden size, one is convolved,
 * two gate it, and the result is projected back.
 * Legend: h hidden, c kernel. Inputs 3·h·h, convolution c·h, output h·h; a bias on each of the three maps where there is one.
 * Source: LFM2 report (arXiv 2511.23404 §2); its class in transformers 5.18.
 */
import type { MixerOf } from '../../../schema/index.ts';
import { recurrentOperators, recurrentTensors, type Recurrent } from './recurrent.ts';
import type { ModelShape, Part } from './types.ts';

type ShortConv = MixerOf<'short-conv'>;

function layerOf(spec: ShortConv, { hiddenSize: h }: ModelShape): Recurrent {
  return {
    label: 'Gated convolution',
    projected: 3 * h,
    convolved: h,
    inner: h,
    scanFlops: 2 * spec.kernel * h,
    scanElements: 3 * h,
  };
}

export const shortConv: Part<ShortConv> = {
  parameters: ({ kernel, bias }, { hiddenSize: h }) => ({
    sharded: 4 * h * h + kernel * h + (bias ? 4 * h : 0),
    replicated: bias ? h : 0,
    routed: 0,
    activeRouted: 0,
  }),
  linearFlops: (_, { hiddenSize: h }) => 8 * h * h,
  coreFlops: (spec, model) => layerOf(spec, model).scanFlops,
  operators: (spec, context) => recurrentOperators(layerOf(spec, context.model), context),
  tensors: (spec, context) => recurrentTensors(layerOf(spec, context.model), context),
  words: ({ kernel }) => `gated convolution over ${kernel} tokens`,
  splitSizes: () => [],
};
