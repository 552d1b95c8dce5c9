/**
 * Kimi delta attention: the gated delta rule with a decay per channel.
 * Legend: w = heads × width, n heads, d width of a head, c convolution kernel, h hidden.
 *   inputs 3·h·w for queries, keys and values, h·n for the step; decay and output gate through a bottleneck of d: 2·(h·d + d·w);
 *   convolution 3w·c; decay vectors w + n; norm d; output w·h.
 * Source: Kimi Linear (arXiv 2510.26692 §3); its class in transformers 5.18 for what is shared between heads.
 */
import type { MixerOf } from '../../../schema/index.ts';
import { recurrentOperators, recurrentTensors, type Recurrent } from './recurrent.ts';
import type { Part } from './types.ts';

type KimiDelta = MixerOf<'kimi-delta'>;

function layerOf({ numHeads, headDim }: KimiDelta): Recurrent {
  const inner = numHeads * headDim;
  return {
    label: 'Kimi delta attention',
    // both bottlenecks are narrow: their second matrices are counted with the parameters and FLOPs below
    projected: 3 * inner + 2 * headDim + numHeads,
    convolved: 3 * inner,
    inner,
    scanFlops: 8 * inner * headDim,
    scanElements: 6 * inner,
  };
}

/** Second matrices of the decay's and the output gate's bottlenecks. */
const gates = ({ numHeads, headDim }: KimiDelta): number => 2 * headDim * numHeads * headDim;

export const kimiDelta: Part<KimiDelta> = {
  parameters: (spec, { hiddenSize: h }) => {
    const { projected, convolved, inner } = layerOf(spec);
    const narrow = 2 * h * spec.headDim;
    return {
      sharded: h * projected - narrow + gates(spec) + convolved * spec.convKernel + inner + spec.numHeads + inner * h,
      replicated: narrow + spec.headDim,
      routed: 0,
      activeRouted: 0,
    };
  },
  linearFlops: (spec, { hiddenSize: h }) => 2 * (h * (layerOf(spec).projected + layerOf(spec).inner) + gates(spec)),
  coreFlops: (spec) => layerOf(spec).scanFlops,
  operators: (spec, context) => recurrentOperators(layerOf(spec), context),
  tensors: (spec, context) => recurrentTensors(layerOf(spec), context),
  words: ({ numHeads }) => `Kimi delta attention, ${numHeads} heads`,
  splitSizes: ({ numHeads }) => [
    { over: 'tp', size: numHeads, what: `${numHeads} delta attention heads`, rule: 'heads-divide-tp' },
  ],
};
