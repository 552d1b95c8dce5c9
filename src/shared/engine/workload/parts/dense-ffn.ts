/**
 * The dense feed-forward part: up and down matrices (GELU), or gate, up and down (SwiGLU).
 * Legend: T tokens, h hidden, f width, t = tp. Source: MODEL §1, §2.1, §3.4, §4.3, §5.3.
 */
import type { FfnOf } from '../../../schema/index.ts';
import { weightGradientTime } from '../../compute.ts';
import { activationBytes, timesElements } from '../fusion.ts';
import {
  blockCollectives,
  elementwise,
  gradientAccumulation,
  matmul,
  type LayerContext,
  type Operator,
} from '../operators.ts';
import type { Part } from './types.ts';
import { inDigits } from './words.ts';

type Dense = FfnOf<'dense'>;

/** Matrices: up and down, and a gate where it is gated. */
export const numMatrices = (spec: { gated: boolean }): number => (spec.gated ? 3 : 2);

function activation(spec: Dense, { tp, tokens, fusedKernels, processor }: LayerContext): Operator {
  const bytes = timesElements(activationBytes(spec, fusedKernels), (spec.width / tp) * tokens);
  return elementwise(spec.gated ? 'SwiGLU' : 'GELU', processor, bytes, ['mlp']);
}

function biasGradients({ bias, width }: Dense, context: LayerContext): Operator[] {
  if (!bias || context.adapters !== null) return [];
  return [
    elementwise('Bias gradients of the feed-forward part', context.processor, {
      forward: 0,
      backward: 2 * (width / context.tp + context.model.hiddenSize) * context.tokens,
      forwardKernels: 0,
      backwardKernels: 1,
    }),
  ];
}

/** Feed-forward part of one expert that every token passes. */
export const denseFfn: Part<Dense> = {
  parameters: (spec, { hiddenSize: h }) => ({
    sharded: numMatrices(spec) * h * spec.width + (spec.bias ? spec.width * (spec.gated ? 2 : 1) : 0),
    replicated: spec.bias ? h : 0,
    routed: 0,
    activeRouted: 0,
  }),
  linearFlops: (spec, { hiddenSize: h }) => 2 * numMatrices(spec) * h * spec.width,
  coreFlops: () => 0,
  operators: (spec, context) => {
    const { tp, tokens: m } = context;
    const h = context.model.hiddenSize;
    const f = spec.width / tp;
    const up = { m, n: f * (spec.gated ? 2 : 1), k: h };
    return [
      matmul(spec.gated ? 'FFN gate and up' : 'FFN up', context, up, ['mlp']),
      matmul('FFN down', context, { m, n: h, k: f }, ['mlp']),
      activation(spec, context),
      ...biasGradients(spec, context),
      ...gradientAccumulation('feed-forward', context, (numMatrices(spec) * h * spec.width) / tp),
      ...blockCollectives('feed-forward', context, weightGradientTime(context.processor, up)),
    ];
  },
  tensors: (spec, { plan, inputBytes }) => {
    const source = 'docs/MODEL.md §3.4';
    return [
      {
        label: spec.gated ? 'Gate and up projections' : 'Pre-activation',
        bytesPerToken: ((spec.gated ? 4 : 2) * spec.width) / plan.tp,
        modules: ['mlp'],
        source,
      },
      { label: 'Activation', bytesPerToken: (inputBytes * spec.width) / plan.tp, modules: ['mlp'], source },
    ];
  },
  words: ({ width, gated }) => `${gated ? 'gated ' : ''}feed-forward of ${inDigits(width)}`,
  splitSizes: ({ width }) => [{ over: 'tp', size: width, what: `the FFN width ${width}`, rule: 'ffn-divides-tp' }],
};
