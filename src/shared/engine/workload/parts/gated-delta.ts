/**
 * Gated delta rule (Qwen3-Next, Qwen3.5): linear attention whose state forgets by a gate and is corrected by each key.
 * Legend: qk = key heads × width, v = value heads × width, n_v value heads, w convolution kernel, h hidden.
 *   inputs h(2·qk + v) for queries, keys, values, h·v for the output gate, 2h·n_v for decay and step; convolution w(2qk + v);
 *   decay and step vectors 2n_v, norm per value head, output v·h.
 * Source: MODEL §1, §2.1; Yang et al. 2024 (arXiv 2412.06464).
 */
import type { MixerOf } from '../../../schema/index.ts';
import { recurrentOperators, recurrentTensors, type Recurrent } from './recurrent.ts';
import type { Part } from './types.ts';

type GatedDelta = MixerOf<'gated-delta'>;

function layerOf(spec: GatedDelta): Recurrent {
  const keys = spec.numKeyHeads * spec.keyHeadDim;
  const values = spec.numValueHeads * spec.valueHeadDim;
  return {
    label: 'Gated delta',
    projected: 2 * keys + 2 * values + 2 * spec.numValueHeads,
    convolved: 2 * keys + values,
    inner: values,
    scanFlops: 8 * spec.numValueHeads * spec.keyHeadDim * spec.valueHeadDim,
    scanElements: 2 * keys + 4 * values,
  };
}

export const gatedDelta: Part<GatedDelta> = {
  parameters: (spec, { hiddenSize: h }) => {
    const { projected, convolved, inner } = layerOf(spec);
    return {
      sharded: h * projected + convolved * spec.convKernel + 2 * spec.numValueHeads + inner * h,
      replicated: spec.valueHeadDim,
      routed: 0,
      activeRouted: 0,
    };
  },
  linearFlops: (spec, { hiddenSize: h }) => 2 * h * (layerOf(spec).projected + layerOf(spec).inner),
  coreFlops: (spec) => layerOf(spec).scanFlops,
  operators: (spec, context) => recurrentOperators(layerOf(spec), context),
  tensors: (spec, context) => recurrentTensors(layerOf(spec), context),
  words: ({ numKeyHeads, numValueHeads }) => `gated delta rule, ${numKeyHeads} key and ${numValueHeads} value heads`,
  splitSizes: ({ numKeyHeads, numValueHeads }) => [
    { over: 'tp', size: numKeyHeads, what: `${numKeyHeads} key heads`, rule: 'heads-divide-tp' },
    { over: 'tp', size: numValueHeads, what: `${numValueHeads} value heads`, rule: 'heads-divide-tp' },
  ],
};
