/**
 * Attention with query, key and value heads (MHA, GQA, MQA), full or over a sliding window.
 * Legend: T tokens, h hidden, a query heads, k key/value heads, dh head width, dv value width, t = tp.
 * Source: MODEL §1 (parameters), §2.1 (FLOPs), §3.2–3.4 (tensors), §5.3 (collectives).
 */
import type { MixerOf } from '../../../schema/index.ts';
import { weightGradientTime } from '../../compute.ts';
import { coreAttentionOperators, outputBytes, scoreTensors } from '../core-attention.ts';
import { rotationBytes } from '../fusion.ts';
import {
  blockCollectives,
  elementwise,
  gradientAccumulation,
  matmul,
  type LayerContext,
  type Operator,
} from '../operators.ts';
import type { ActivationTensor, ModelShape, Part, PartParameters, TensorContext } from './types.ts';
import { inDigits } from './words.ts';

type Attention = MixerOf<'attention'>;

const valueDim = (spec: Attention): number => spec.valueHeadDim ?? spec.headDim;

/** Width of keys and values, elements per token: k·(dh + dv), or k·dh where one projection gives both. */
function keyValueWidth(spec: Attention): number {
  return spec.numKvHeads * (spec.sharedKeyValue ? spec.headDim : spec.headDim + valueDim(spec));
}

/** Outputs of the input projections: queries, their gate, keys and values. */
function projectedWidth(spec: Attention): number {
  const gate = spec.outputGate ? spec.numHeads * valueDim(spec) : 0;
  return spec.numHeads * spec.headDim + gate + keyValueWidth(spec);
}

function normParameters({ qkNorm, numHeads, numKvHeads, headDim }: Attention): number {
  if (qkNorm === 'head') return 2 * headDim;
  return qkNorm === 'full' ? (numHeads + numKvHeads) * headDim : 0;
}

function parameters(spec: Attention, { hiddenSize: h }: ModelShape): PartParameters {
  const projected = projectedWidth(spec);
  const output = spec.numHeads * valueDim(spec) * h;
  return {
    sharded: h * projected + output + (spec.qkvBias ? projected : 0) + (spec.sinks ? spec.numHeads : 0),
    replicated: normParameters(spec) + (spec.outputBias ? h : 0),
    routed: 0,
    activeRouted: 0,
  };
}

function linearFlops(spec: Attention, { hiddenSize: h }: ModelShape): number {
  return 2 * (h * projectedWidth(spec) + spec.numHeads * valueDim(spec) * h);
}

/** Keys that a query meets on average under a window of w: all of a square, w(1 − (w−1)/(2s)) of s else. MODEL §2.1. */
function keysSeen(spec: Attention, seqLen: number): number {
  const { window: w } = spec;
  return w === null || w >= seqLen ? seqLen : 2 * (w - (w * (w - 1)) / (2 * seqLen));
}

function coreFlops(spec: Attention, _: ModelShape, seqLen: number): number {
  return 2 * spec.numHeads * (spec.headDim + valueDim(spec)) * keysSeen(spec, seqLen);
}

function rotary(spec: Attention, context: LayerContext): Operator[] {
  // the flash curve's measurement includes the fused rotary pass; the batched matmuls do not
  const isMeasured = context.attentionKernel !== 'unfused' && context.fusedKernels;
  if (context.model.positions !== 'rotary' || isMeasured) return [];
  const bytes =
    (rotationBytes(context.fusedKernels) * (spec.numHeads + spec.numKvHeads) * spec.headDim * context.tokens) /
    context.tp;
  return [
    elementwise('Rotary embedding', context.processor, {
      forward: bytes,
      backward: bytes,
      forwardKernels: 2,
      backwardKernels: 2,
    }),
  ];
}

function biasGradients(spec: Attention, context: LayerContext): Operator[] {
  const width =
    (spec.qkvBias ? projectedWidth(spec) / context.tp : 0) + (spec.outputBias ? context.model.hiddenSize : 0);
  if (width === 0 || context.adapters !== null) return [];
  return [
    elementwise('Bias gradients of attention', context.processor, {
      forward: 0,
      backward: 2 * width * context.tokens,
      forwardKernels: 0,
      backwardKernels: 1,
    }),
  ];
}

function operators(spec: Attention, context: LayerContext): Operator[] {
  const { tp, tokens: m } = context;
  const h = context.model.hiddenSize;
  const qkv = { m, n: projectedWidth(spec) / tp, k: h };
  const width = (spec.numHeads * valueDim(spec)) / tp;
  return [
    matmul('QKV projection', context, qkv),
    ...coreAttentionOperators(
      {
        numHeads: spec.numHeads / tp,
        numKvHeads: Math.max(1, spec.numKvHeads / tp),
        headDim: (spec.headDim + valueDim(spec)) / 2,
        share: keysSeen(spec, context.seqLen) / context.seqLen,
      },
      context,
    ),
    matmul('Attention output projection', context, { m, n: h, k: width }),
    ...rotary(spec, context),
    ...biasGradients(spec, context),
    ...gradientAccumulation('attention', context, linearFlops(spec, context.model) / 2 / tp),
    ...blockCollectives('attention', context, weightGradientTime(context.processor, qkv)),
  ];
}

function tensors(spec: Attention, context: TensorContext): ActivationTensor[] {
  const t = context.plan.tp;
  const source = 'docs/MODEL.md §3.4';
  return [
    {
      label: 'Queries, keys and values',
      bytesPerToken: (2 * projectedWidth(spec)) / t,
      modules: [],
      source,
    },
    {
      label: 'Attention output',
      bytesPerToken: (outputBytes(context) * spec.numHeads * valueDim(spec)) / t,
      modules: [],
      source,
    },
    ...scoreTensors(spec.numHeads / t, context),
  ];
}

/** Attention of the plain kind. */
export const attention: Part<Attention> = {
  parameters,
  linearFlops,
  coreFlops,
  operators,
  tensors,
  words: ({ numHeads, numKvHeads, headDim, window }) => {
    const heads = numKvHeads === numHeads ? `${numHeads} heads` : `${numHeads} query and ${numKvHeads} key/value heads`;
    return `${window === null ? 'attention' : `attention over a window of ${inDigits(window)}`}, ${heads} of ${headDim}`;
  },
  splitSizes: ({ numHeads, numKvHeads }) => [
    { over: 'tp', size: numHeads, what: `${numHeads} attention heads`, rule: 'heads-divide-tp' },
    { over: 'tp', size: numKvHeads, what: `${numKvHeads} key/value heads`, rule: 'kv-heads-divide-tp' },
  ],
};
