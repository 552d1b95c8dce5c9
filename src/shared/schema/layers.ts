/**
 * What a layer is made of: a mixer (attention and what takes its place) and a feed-forward part. A model is a list of
 * such layers; a new kind is one entry here and one file in engine/workload/parts. Sizes are counts of elements.
 */
import { z } from 'zod';
import { count, countOrZero } from './primitives.ts';

const size = count.max(10_000_000);

/** Multi-head, grouped-query and multi-query attention: numHeads query heads share numKvHeads key/value heads. */
const attention = z.strictObject({
  type: z.literal('attention'),
  numHeads: size,
  numKvHeads: size,
  /** Width of a query and key head. */
  headDim: size,
  /** Width of a value head; null = headDim. */
  valueHeadDim: size.nullable().default(null),
  qkvBias: z.boolean().default(false),
  outputBias: z.boolean().default(false),
  /** Norm on queries and keys: over each head, or over the full width. */
  qkNorm: z.enum(['none', 'head', 'full']).default('none'),
  /** A gate of the attention's width multiplies its output. */
  outputGate: z.boolean().default(false),
  /** One projection gives both keys and values. */
  sharedKeyValue: z.boolean().default(false),
  /** Tokens that a query sees back; null = all. */
  window: size.nullable().default(null),
  /** One learned logit per head that takes up what no key should. */
  sinks: z.boolean().default(false),
});

/** Multi-head latent attention: queries and keys/values pass through narrow latents; one rotary key for all heads. */
const mla = z.strictObject({
  type: z.literal('mla'),
  numHeads: size,
  /** Width of the query latent; null = queries are projected directly. */
  qLoraRank: size.nullable(),
  kvLoraRank: size,
  qkNopeHeadDim: size,
  qkRopeHeadDim: countOrZero.max(10_000),
  vHeadDim: size,
  outputGate: z.boolean().default(false),
  window: size.nullable().default(null),
  /** A small attention that picks the keys to look at (DeepSeek sparse attention). */
  indexer: z.strictObject({ numHeads: size, headDim: size, topK: size }).nullable().default(null),
});

/** State-space layer with scalar decay per head. innerSize = numHeads·headDim. */
const mamba2 = z.strictObject({
  type: z.literal('mamba2'),
  numHeads: size,
  headDim: size,
  stateSize: size,
  numGroups: size,
  convKernel: size,
  convBias: z.boolean().default(true),
  projectionBias: z.boolean().default(false),
});

/** Selective state-space layer with a decay per channel. */
const mamba1 = z.strictObject({
  type: z.literal('mamba1'),
  innerSize: size,
  stateSize: size,
  dtRank: size,
  convKernel: size,
  convBias: z.boolean().default(true),
  projectionBias: z.boolean().default(false),
});

/** Gated delta rule: linear attention whose state forgets and corrects itself. */
const gatedDelta = z.strictObject({
  type: z.literal('gated-delta'),
  numKeyHeads: size,
  numValueHeads: size,
  keyHeadDim: size,
  valueHeadDim: size,
  convKernel: size,
});

/** Linear attention with a fixed decay per head (lightning attention), an output norm and an output gate. */
const linearAttention = z.strictObject({
  type: z.literal('linear-attention'),
  numHeads: size,
  headDim: size,
});

/** Kimi delta attention: the gated delta rule with a decay per channel, from low-rank gates. */
const kimiDelta = z.strictObject({
  type: z.literal('kimi-delta'),
  numHeads: size,
  headDim: size,
  convKernel: size,
});

/** A gated convolution over the last few tokens (LFM2). */
const shortConv = z.strictObject({
  type: z.literal('short-conv'),
  kernel: size,
  bias: z.boolean().default(false),
});

/**
 * Attention over a window of tokens and a shorter sequence of compressed ones (DeepSeek-V4): one key/value head whose
 * width serves keys and values, queries from a latent, an output projection in groups.
 */
const compressed = z.strictObject({
  type: z.literal('compressed'),
  numHeads: size,
  headDim: size,
  qLoraRank: size,
  outputGroups: size,
  outputLoraRank: size,
  window: size,
  /** Tokens that make one compressed key; null = the window alone. */
  ratio: size.nullable(),
  /** Picks compressed keys by a small attention; its compressor overlaps its neighbours, as then does the main one. */
  indexer: z.strictObject({ numHeads: size, headDim: size, topK: size }).nullable().default(null),
});

const none = z.strictObject({ type: z.literal('none') });

export const mixerSchema = z.discriminatedUnion('type', [
  attention,
  mla,
  mamba2,
  mamba1,
  gatedDelta,
  linearAttention,
  kimiDelta,
  shortConv,
  compressed,
  none,
]);
export type Mixer = z.infer<typeof mixerSchema>;

/** Two matrices, or three where a gate multiplies the first. */
const dense = z.strictObject({
  type: z.literal('dense'),
  width: size,
  gated: z.boolean(),
  bias: z.boolean().default(false),
});

/** Mixture of experts: a router sends each token to expertsPerToken of numExperts; sharedWidth serves every token. */
const moe = z.strictObject({
  type: z.literal('moe'),
  numExperts: size,
  expertsPerToken: size,
  expertWidth: size,
  gated: z.boolean().default(true),
  bias: z.boolean().default(false),
  /** Width of the shared experts together; 0 = none. */
  sharedWidth: countOrZero.max(10_000_000).default(0),
  /** One more column that gates the shared expert's output. */
  sharedGate: z.boolean().default(false),
  /** Experts act on a narrower copy of the hidden state; null = on the hidden state itself. */
  latentSize: size.nullable().default(null),
  /** Vector added to the router's output by gradient (a buffer that no gradient trains is not counted). */
  routerBias: z.boolean().default(false),
});

export const ffnSchema = z.discriminatedUnion('type', [dense, moe, none]);
export type Ffn = z.infer<typeof ffnSchema>;

export const layerKindSchema = z.strictObject({
  mixer: mixerSchema,
  ffn: ffnSchema,
  /** Norms over the hidden size: 2 in a pre-norm layer, 4 with sandwich norms, 1 in a parallel block. */
  norms: countOrZero.max(16).default(2),
  /** Mixer and feed-forward part read the same input and their outputs are summed together. */
  parallel: z.boolean().default(false),
  /** Small parameters beside the above (scales, mixing coefficients), held whole by every rank. */
  otherParameters: countOrZero.default(0),
});
export type LayerKind = z.infer<typeof layerKindSchema>;

/** Kinds by name; `layerPattern` says which layer is of which kind. */
export const layerKindsSchema = z.record(z.string().min(1).max(64), layerKindSchema);

export type MixerOf<T extends Mixer['type']> = Extract<Mixer, { type: T }>;
export type FfnOf<T extends Ffn['type']> = Extract<Ffn, { type: T }>;
