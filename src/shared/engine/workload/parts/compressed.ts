/**
 * Attention over a window and compressed keys (DeepSeek-V4). Every `ratio` tokens are pooled into one key by a learned
 * gate; a query sees the last `window` tokens and the compressed keys, or the topK of them that an indexer picks.
 * Legend: h hidden, a heads, d head width (one head of keys and values), q_r query latent, g groups and o_r latent of the
 * output, r ratio, n_i and d_i heads and width of the indexer; u = 2 where compressors overlap (with an indexer), else 1.
 *   queries h·q_r + q_r + q_r·a·d; keys and values h·d + d; output a·d·o_r + g·o_r·h; sinks a
 *   compressor 2·h·u·d + r·u·d + d; indexer the same with d_i, its queries q_r·n_i·d_i, its weights h·n_i
 * Source: the DeepSeek-V4 class of transformers 5.18, its counts; FLOPs as in MODEL §2.1 with the keys that are seen.
 */
import type { MixerOf } from '../../../schema/index.ts';
import { weightGradientTime } from '../../compute.ts';
import { coreAttentionOperators, scoreTensors } from '../core-attention.ts';
import { blockCollectives, elementwise, gradientAccumulation, matmul } from '../operators.ts';
import type { LayerContext, Operator } from '../operators.ts';
import type { ActivationTensor, ModelShape, Part, TensorContext } from './types.ts';
import { inDigits } from './words.ts';

type Compressed = MixerOf<'compressed'>;

const overlapOf = (spec: Compressed): number => (spec.indexer === null ? 1 : 2);

/** Matrices over the heads: query up-projection and both halves of the output. */
function headWeights(spec: Compressed, h: number): number {
  const { numHeads, headDim, qLoraRank, outputGroups, outputLoraRank } = spec;
  return qLoraRank * numHeads * headDim + numHeads * headDim * outputLoraRank + outputGroups * outputLoraRank * h;
}

/** Matrices that every rank holds: latent, key and value, compressors, indexer. */
function sharedWeights(spec: Compressed, h: number): number {
  const { qLoraRank, headDim, ratio, indexer } = spec;
  const overlap = overlapOf(spec);
  const compressor = ratio === null ? 0 : 2 * h * overlap * headDim;
  const index =
    indexer === null
      ? 0
      : 2 * h * overlap * indexer.headDim + qLoraRank * indexer.numHeads * indexer.headDim + h * indexer.numHeads;
  return h * qLoraRank + h * headDim + compressor + index;
}

/** Norms, and the compressors' position biases. */
function vectors(spec: Compressed): number {
  const { qLoraRank, headDim, ratio, indexer } = spec;
  const overlap = overlapOf(spec);
  const compressor = ratio === null ? 0 : ratio * overlap * headDim + headDim;
  const index = indexer === null || ratio === null ? 0 : ratio * overlap * indexer.headDim + indexer.headDim;
  return qLoraRank + headDim + compressor + index;
}

/** Keys that a query meets: of the window and of the compressed sequence. */
function keysSeen({ window, ratio, indexer }: Compressed, seqLen: number): number {
  const pooled = ratio === null ? 0 : seqLen / ratio;
  return Math.min(seqLen, window) + Math.min(pooled, indexer?.topK ?? pooled);
}

function coreFlops(spec: Compressed, _: ModelShape, seqLen: number): number {
  const scores = 4 * spec.numHeads * spec.headDim * keysSeen(spec, seqLen);
  const { indexer, ratio } = spec;
  return scores + (indexer === null || ratio === null ? 0 : (2 * indexer.numHeads * indexer.headDim * seqLen) / ratio);
}

function operators(spec: Compressed, context: LayerContext): Operator[] {
  const { tp, tokens: m, processor } = context;
  const h = context.model.hiddenSize;
  const heads = spec.numHeads / tp;
  const queries = { m, n: heads * spec.headDim, k: spec.qLoraRank };
  const latentTokens = m / (context.sequenceParallel ? tp : 1);
  const width = vectors({ ...spec, ratio: null });
  const grouped = (spec.outputGroups * spec.outputLoraRank) / tp;
  return [
    matmul('Latents, keys and compressors', context, { m: latentTokens, n: sharedWeights(spec, h) / h, k: h }),
    elementwise('Norms of the latents', processor, {
      forward: 4 * width * latentTokens,
      backward: 8 * width * latentTokens,
      forwardKernels: 2,
      backwardKernels: 2,
    }),
    matmul('Query up-projection', context, queries, ['mla-up-projection']),
    ...coreAttentionOperators(
      {
        numHeads: heads,
        numKvHeads: 1,
        headDim: spec.headDim,
        share: Math.min(1, keysSeen(spec, context.seqLen) / context.seqLen),
      },
      context,
    ),
    // each group projects its own heads
    matmul('Output projection in groups', context, {
      m,
      n: grouped,
      k: (spec.numHeads * spec.headDim) / spec.outputGroups,
    }),
    matmul('Attention output projection', context, { m, n: h, k: grouped }),
    ...gradientAccumulation('attention', context, headWeights(spec, h) / tp + sharedWeights(spec, h)),
    ...blockCollectives('attention', context, weightGradientTime(processor, queries)),
  ];
}

function tensors(spec: Compressed, context: TensorContext): ActivationTensor[] {
  const { tp: t, sequenceParallel } = context.plan;
  const heads = spec.numHeads / t;
  const pooled = spec.ratio === null ? 0 : 2 * overlapOf(spec) * spec.headDim;
  const latent = 2 * (spec.qLoraRank + spec.headDim) + pooled;
  const source = 'docs/MODEL.md §3.4';
  return [
    {
      label: 'Latents, keys and compressors',
      bytesPerToken: (2 * latent) / (sequenceParallel ? t : 1),
      modules: [],
      source,
    },
    { label: 'Queries', bytesPerToken: 2 * heads * spec.headDim, modules: ['mla-up-projection'], source },
    {
      label: 'Attention output',
      bytesPerToken: 2 * heads * spec.headDim + (2 * spec.outputGroups * spec.outputLoraRank) / t,
      modules: [],
      source,
    },
    ...scoreTensors(heads, context),
  ];
}

export const compressed: Part<Compressed> = {
  parameters: (spec, { hiddenSize: h }) => ({
    sharded: headWeights(spec, h) + spec.numHeads,
    replicated: sharedWeights(spec, h) + vectors(spec),
    routed: 0,
    activeRouted: 0,
  }),
  linearFlops: (spec, { hiddenSize: h }) => 2 * (headWeights(spec, h) + sharedWeights(spec, h)),
  coreFlops,
  operators,
  tensors,
  words: ({ numHeads, window, ratio }) =>
    `attention over a window of ${inDigits(window)}${ratio === null ? '' : ` and 1/${ratio} of the rest`}, ${numHeads} heads`,
  splitSizes: ({ numHeads, outputGroups }) => [
    { over: 'tp', size: numHeads, what: `${numHeads} attention heads`, rule: 'heads-divide-tp' },
    { over: 'tp', size: outputGroups, what: `${outputGroups} output groups`, rule: 'groups-divide-tp' },
  ],
};
