/**
 * Mamba-1: a selective state-space layer with a decay per channel.
 * Legend: d_in inner width, N state, r step rank, w convolution kernel, h hidden.
 *   input 2h·d_in, convolution d_in(w + 1), selection d_in(r + 2N), step r·d_in + d_in, decay d_in·N, skip d_in, output d_in·h.
 * Source: MODEL §1; Gu & Dao 2023 (arXiv 2312.00752).
 */
import type { MixerOf } from '../../../schema/index.ts';
import { recurrentOperators, recurrentTensors, type Recurrent } from './recurrent.ts';
import type { Part } from './types.ts';
import { inDigits } from './words.ts';

type Mamba1 = MixerOf<'mamba1'>;

function layerOf({ innerSize, stateSize }: Mamba1): Recurrent {
  return {
    label: 'Mamba',
    projected: 2 * innerSize,
    convolved: innerSize,
    inner: innerSize,
    scanFlops: 7 * innerSize * stateSize,
    scanElements: 4 * innerSize + 2 * stateSize,
  };
}

/** Weights of the maps that choose step size and state inputs for each token. */
const selectionWeights = ({ innerSize, stateSize, dtRank }: Mamba1): number =>
  innerSize * (dtRank + 2 * stateSize) + dtRank * innerSize;

export const mamba1: Part<Mamba1> = {
  parameters: (spec, { hiddenSize: h }) => ({
    sharded:
      2 * h * spec.innerSize +
      spec.innerSize * (spec.convKernel + (spec.convBias ? 1 : 0)) +
      selectionWeights(spec) +
      spec.innerSize +
      spec.innerSize * spec.stateSize +
      spec.innerSize +
      spec.innerSize * h +
      (spec.projectionBias ? 2 * spec.innerSize : 0),
    replicated: spec.projectionBias ? h : 0,
    routed: 0,
    activeRouted: 0,
  }),
  linearFlops: (spec, { hiddenSize: h }) => 2 * (3 * h * spec.innerSize + selectionWeights(spec)),
  coreFlops: (spec) => layerOf(spec).scanFlops,
  operators: (spec, context) => recurrentOperators(layerOf(spec), context),
  tensors: (spec, context) => recurrentTensors(layerOf(spec), context),
  words: ({ innerSize, stateSize }) => `Mamba of ${inDigits(innerSize)} channels, a state of ${stateSize} each`,
  splitSizes: ({ innerSize }) => [
    { over: 'tp', size: innerSize, what: `the Mamba width ${innerSize}`, rule: 'ffn-divides-tp' },
  ],
};
