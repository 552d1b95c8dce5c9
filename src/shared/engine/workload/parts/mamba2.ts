/**
 * Mamba-2: a state-space layer with a scalar decay per head.
 * Legend: d_in = numHeads·headDim, N state, G groups, n heads, w convolution kernel, h hidden.
 *   input projection h(2·d_in + 2GN + n), convolution (d_in + 2GN)(w + 1), decay, skip and step 3n, norm d_in, output d_in·h.
 * Source: MODEL §1, §2.1; Dao & Gu 2024 (arXiv 2405.21060).
 */
import type { MixerOf } from '../../../schema/index.ts';
import { recurrentOperators, recurrentTensors, type Recurrent } from './recurrent.ts';
import type { Part } from './types.ts';

type Mamba2 = MixerOf<'mamba2'>;

function layerOf(spec: Mamba2): Recurrent {
  const inner = spec.numHeads * spec.headDim;
  const groups = 2 * spec.numGroups * spec.stateSize;
  return {
    label: 'Mamba-2',
    projected: 2 * inner + groups + spec.numHeads,
    convolved: inner + groups,
    inner,
    scanFlops: 7 * inner * spec.stateSize,
    scanElements: 4 * inner + groups,
  };
}

export const mamba2: Part<Mamba2> = {
  parameters: (spec, { hiddenSize: h }) => {
    const { projected, convolved, inner } = layerOf(spec);
    return {
      sharded:
        h * projected +
        convolved * (spec.convKernel + (spec.convBias ? 1 : 0)) +
        3 * spec.numHeads +
        inner +
        inner * h +
        (spec.projectionBias ? projected : 0),
      replicated: spec.projectionBias ? h : 0,
      routed: 0,
      activeRouted: 0,
    };
  },
  linearFlops: (spec, { hiddenSize: h }) => 2 * h * (layerOf(spec).projected + layerOf(spec).inner),
  coreFlops: (spec) => layerOf(spec).scanFlops,
  operators: (spec, context) => recurrentOperators(layerOf(spec), context),
  tensors: (spec, context) => recurrentTensors(layerOf(spec), context),
  words: ({ numHeads, stateSize }) => `Mamba-2, ${numHeads} heads with a state of ${stateSize}`,
  splitSizes: ({ numHeads, numGroups }) => [
    { over: 'tp', size: numHeads, what: `${numHeads} Mamba heads`, rule: 'heads-divide-tp' },
    { over: 'tp', size: numGroups, what: `${numGroups} Mamba groups`, rule: 'groups-divide-tp' },
  ],
};
