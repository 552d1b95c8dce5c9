/** The architecture of a model (not its weights), in the terms of a scenario file (docs/FORMATS.md §1). */
import { z } from 'zod';
import { layerKindsSchema } from './layers.ts';
import { count, countOrZero, shortText, sparse } from './primitives.ts';

/** Mixture of experts in the layers after `denseFirst`, in every `everyN`-th of them. */
const moe = z.strictObject({
  numExperts: count,
  expertsPerToken: count,
  expertFfnHiddenSize: count,
  sharedExpertFfnHiddenSize: countOrZero.default(0),
  /** A column of the router gates the shared experts' output. */
  sharedExpertGate: z.boolean().default(false),
  denseFirst: countOrZero.default(0),
  everyN: count.default(1),
  router: z.string().nullable().default(null),
});

/** Multi-head latent attention, in every layer. */
const mla = z.strictObject({
  qLoraRank: count.nullable(),
  kvLoraRank: count,
  qkNopeHeadDim: count,
  qkRopeHeadDim: count,
  vHeadDim: count,
});

/** Which layer is of which kind, in order: runs of named kinds, or Megatron's letters (`M` Mamba, `*` attention, `-` FFN, `E` experts). */
const layerPattern = z.union([
  z.string().max(10_000),
  z.array(z.strictObject({ kind: z.string(), count })).max(10_000),
]);

export const modelFamilies = ['gpt', 'llama'] as const;

/** Norms over the hidden size by what they learn: a scale and a shift, a scale, or nothing. */
export const normalizations = ['layernorm', 'layernorm-no-bias', 'layernorm-plain', 'rmsnorm'] as const;

/** A tower that turns images into tokens, as one more stage before the layers. */
const vision = z.strictObject({
  /** Parameters of the tower and of the projector into the hidden size. */
  parameters: count,
  numLayers: count,
  hiddenSize: count,
  ffnHiddenSize: count,
  numHeads: count,
  /** Not trained: no gradients, no optimizer states, no backward pass. */
  frozen: z.boolean().default(true),
});

/**
 * One decoder-only transformer. Sizes are counts of elements: hiddenSize h, ffnHiddenSize f, numHeads a query heads and
 * numKvHeads k key/value heads of headDim each, vocabSize V before padding.
 */
export const modelSchema = z.strictObject({
  preset: z.string().nullable().default(null),
  name: shortText,
  family: z.enum(modelFamilies),
  numLayers: count.max(10_000),
  hiddenSize: count.max(1_000_000),
  ffnHiddenSize: count.max(10_000_000),
  gatedFfn: z.boolean(),
  numHeads: count.max(10_000),
  numKvHeads: count.max(10_000),
  headDim: count.max(10_000),
  vocabSize: count.max(10_000_000),
  tiedEmbeddings: z.boolean(),
  positions: z.enum(['learned', 'rotary', 'alibi', 'none']),
  maxPositions: count.nullable().default(null),
  normalization: z.enum(normalizations),
  qkvBias: z.boolean().default(false),
  ffnBias: z.boolean().default(false),
  qkNorm: z.boolean().default(false),
  /** Tokens that a query sees back; null = all. */
  slidingWindow: count.nullable().default(null),
  /** Dropout on attention and residual branches during training: masks are kept, and kernels read and write them. */
  dropout: z.boolean().default(false),
  moe: moe.nullable().default(null),
  mla: mla.nullable().default(null),
  /** Kinds of layers by name, where the fields above do not describe them; `layerPattern` then gives their order. */
  layerKinds: layerKindsSchema.nullable().default(null),
  layerPattern: layerPattern.nullable().default(null),
  mtpLayers: countOrZero.default(0),
  /** Width of the embedding where it is not the hidden size; a projection then stands on either side of the layers. */
  embeddingSize: count.nullable().default(null),
  /** A norm after the embedding. */
  embeddingNorm: z.boolean().default(false),
  headBias: z.boolean().default(false),
  finalNorm: z.boolean().default(true),
  vision: vision.nullable().default(null),
  /** Small parameters after the layers, on the last stage (what joins several residual streams). */
  otherParameters: countOrZero.default(0),
});
export type Model = z.infer<typeof modelSchema>;

/** A model as a scenario file may give it: a preset fills what is absent. */
export const modelInputSchema = sparse(modelSchema);
export type ModelInput = z.input<typeof modelInputSchema>;
