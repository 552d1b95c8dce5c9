/**
 * Multi-head latent attention: queries and keys/values are projected down to narrow latents and up again per head; one
 * rotary key serves all heads.
 * Legend: T tokens, h hidden, a heads, q_r and kv_r latent widths, n = nope, r = rotary and v = value head widths, t = tp.
 * Source: DeepSeek-V2 (arXiv 2405.04434 §2.1); MODEL §1 (parameters), §2.1 (FLOPs), §3.4 (tensors). The indexer is that of
 * DeepSeek-V3.2 (arXiv 2512.02556): each query scores all keys with a few narrow heads and attends to the best topK.
 */
import type { MixerOf } from '../../../schema/index.ts';
import { weightGradientTime } from '../../compute.ts';
import { coreAttentionOperators, outputBytes, scoreTensors } from '../core-attention.ts';
import { blockCollectives, elementwise, gradientAccumulation, matmul } from '../operators.ts';
import type { LayerContext, Operator } from '../operators.ts';
import type { ActivationTensor, ModelShape, Part, PartParameters } from './types.ts';
import { inDigits } from './words.ts';

type Mla = MixerOf<'mla'>;

const queryDim = (spec: Mla): number => spec.qkNopeHeadDim + spec.qkRopeHeadDim;

/** Matrices split over the heads: up-projections of queries, keys and values, the gate, and the output projection. */
function headWeights(spec: Mla, h: number): number {
  const queries = (spec.qLoraRank ?? h) * spec.numHeads * queryDim(spec);
  const keysAndValues = spec.kvLoraRank * spec.numHeads * (spec.qkNopeHeadDim + spec.vHeadDim);
  const gate = spec.outputGate ? h * spec.numHeads * spec.vHeadDim : 0;
  return queries + keysAndValues + gate + spec.numHeads * spec.vHeadDim * h;
}

/** Matrices that every tp rank holds whole: down-projections to the latents and the shared rotary key. */
function latentWeights(spec: Mla, h: number): number {
  return h * (spec.qLoraRank ?? 0) + h * (spec.kvLoraRank + spec.qkRopeHeadDim);
}

/** The indexer's matrices: its queries from the query latent, its key and its head weights from the hidden state. */
function indexerWeights({ indexer, qLoraRank }: Mla, h: number): number {
  if (indexer === null) return 0;
  return (qLoraRank ?? h) * indexer.numHeads * indexer.headDim + h * indexer.headDim + h * indexer.numHeads;
}

function parameters(spec: Mla, { hiddenSize: h }: ModelShape): PartParameters {
  const norms = (spec.qLoraRank ?? 0) + spec.kvLoraRank + (spec.indexer === null ? 0 : 2 * spec.indexer.headDim);
  return {
    sharded: headWeights(spec, h),
    replicated: latentWeights(spec, h) + indexerWeights(spec, h) + norms,
    routed: 0,
    activeRouted: 0,
  };
}

const linearFlops = (spec: Mla, { hiddenSize: h }: ModelShape): number =>
  2 * (headWeights(spec, h) + latentWeights(spec, h) + indexerWeights(spec, h));

/** Keys that a query attends to, of a full square of seqLen. */
const keysAttended = (spec: Mla, seqLen: number): number =>
  Math.min(seqLen, spec.indexer?.topK ?? seqLen, spec.window ?? seqLen);

/** Scores and values over the keys that a query attends to, and the indexer's scores over all of them. */
function coreFlops(spec: Mla, _: ModelShape, seqLen: number): number {
  const scores = 2 * spec.numHeads * (queryDim(spec) + spec.vHeadDim) * keysAttended(spec, seqLen);
  const index = spec.indexer === null ? 0 : 2 * spec.indexer.numHeads * spec.indexer.headDim * seqLen;
  return scores + index;
}

function operators(spec: Mla, context: LayerContext): Operator[] {
  const { tp, tokens: m, processor } = context;
  const h = context.model.hiddenSize;
  const heads = spec.numHeads / tp;
  const queryInput = spec.qLoraRank ?? h;
  const queries = { m, n: heads * queryDim(spec), k: queryInput };
  const keysAndValues = { m, n: heads * (spec.qkNopeHeadDim + spec.vHeadDim), k: spec.kvLoraRank };
  const latents = { m, n: (spec.qLoraRank ?? 0) + spec.kvLoraRank + spec.qkRopeHeadDim, k: h };
  const latentTokens = m / (context.sequenceParallel ? tp : 1);
  const width = (spec.qLoraRank ?? 0) + spec.kvLoraRank;
  return [
    matmul('Latent down-projections', context, { ...latents, m: latentTokens }),
    elementwise('Norms of the latents', processor, {
      forward: 4 * width * latentTokens,
      backward: 8 * width * latentTokens,
      forwardKernels: spec.qLoraRank === null ? 1 : 2,
      backwardKernels: spec.qLoraRank === null ? 1 : 2,
    }),
    matmul('Query up-projection', context, queries, ['mla-up-projection']),
    matmul('Key and value up-projection', context, keysAndValues, ['mla-up-projection']),
    ...coreAttentionOperators(
      {
        numHeads: heads,
        numKvHeads: heads,
        headDim: (queryDim(spec) + spec.vHeadDim) / 2,
        share: keysAttended(spec, context.seqLen) / context.seqLen,
      },
      context,
    ),
    matmul('Attention output projection', context, { m, n: h, k: heads * spec.vHeadDim }),
    ...gradientAccumulation('attention', context, headWeights(spec, h) / tp + latentWeights(spec, h)),
    ...blockCollectives('attention', context, weightGradientTime(processor, queries)),
  ];
}

function tensors(spec: Mla, context: Parameters<Part<Mla>['tensors']>[1]): ActivationTensor[] {
  const { tp: t, sequenceParallel } = context.plan;
  const heads = spec.numHeads / t;
  const latent = (spec.qLoraRank ?? 0) + spec.kvLoraRank + spec.qkRopeHeadDim;
  const source = 'docs/MODEL.md §3.4';
  return [
    // the down-projections' outputs and the norms' outputs, which the up-projections read
    { label: 'Latents', bytesPerToken: (4 * latent) / (sequenceParallel ? t : 1), modules: [], source },
    {
      label: 'Queries, keys and values',
      bytesPerToken: 2 * heads * (2 * queryDim(spec) + spec.vHeadDim),
      modules: ['mla-up-projection'],
      source,
    },
    { label: 'Attention output', bytesPerToken: outputBytes(context) * heads * spec.vHeadDim, modules: [], source },
    ...scoreTensors(heads, context),
  ];
}

/** Latent attention, with or without an indexer that makes it sparse. */
export const mla: Part<Mla> = {
  parameters,
  linearFlops,
  coreFlops,
  operators,
  tensors,
  words: ({ numHeads, kvLoraRank, indexer }) =>
    `latent attention, ${numHeads} heads over a latent of ${kvLoraRank}` +
    (indexer === null ? '' : `, the ${inDigits(indexer.topK)} best keys`),
  splitSizes: ({ numHeads }) => [
    { over: 'tp', size: numHeads, what: `${numHeads} attention heads`, rule: 'heads-divide-tp' },
  ],
};
