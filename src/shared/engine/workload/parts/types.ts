/**
 * What a part of a layer (a mixer or a feed-forward part) tells the planner. One file per kind of part answers all of it,
 * so that a new kind is one new file; nothing above looks inside.
 */
import type { Adapters, Model, Plan } from '../../../schema/index.ts';
import type { LayerContext, Operator, RecomputeModule } from '../operators.ts';

/** What of the model every part needs beside its own sizes. */
export type ModelShape = Pick<Model, 'hiddenSize' | 'normalization' | 'positions' | 'dropout'>;

/** Parameters by how a split treats them; counts of scalars. */
export interface PartParameters {
  /** Split over tp. */
  sharded: number;
  /** Held whole by every tp rank. */
  replicated: number;
  /** Routed experts: split over ep and, inside an expert, over etp. */
  routed: number;
  /** What of `routed` one token passes through. */
  activeRouted: number;
}

export type { RecomputeModule };

export interface TensorContext {
  model: ModelShape;
  plan: Plan;
  /** Keys that a query may see: the whole sequence, whatever cp is. */
  seqLen: number;
  /** Bytes of an element that only a matmul reads again in backward: 2, less in fp8 and fp4 recipes, 0 where it is frozen. */
  inputBytes: number;
  /** Adapters trained in place of the weights: the inputs of frozen maps without one are not kept. Null = all are. */
  adapters: Adapters | null;
  /** The framework keeps each routed row once more, for the gradient of the router's score that it is multiplied with. */
  keepsScoredRows: boolean;
}

/** A tensor kept from forward to backward. */
export interface ActivationTensor {
  label: string;
  /** Bytes on one rank per token of that rank's micro-batch (s/cp·b tokens), after tp, sp, etp. */
  bytesPerToken: number;
  /** The modules whose recomputation drops it. */
  modules: readonly RecomputeModule[];
  source: string;
}

/** A size that a degree must divide, in words: "32 attention heads". */
export interface SplitSize {
  over: 'tp' | 'cp' | 'ep' | 'etp';
  size: number;
  what: string;
  /** Id of the rule that it belongs to. */
  rule: string;
}

export interface Part<Spec> {
  parameters(spec: Spec, model: ModelShape): PartParameters;
  /** Forward FLOPs per token of the linear maps a token passes through: 2 × their weights. */
  linearFlops(spec: Spec, model: ModelShape): number;
  /** Forward FLOPs per token of what depends on the sequence (full square for attention: docs/MODEL.md §2). */
  coreFlops(spec: Spec, model: ModelShape, seqLen: number): number;
  /** Kernels and collectives of one micro-batch on one rank. */
  operators(spec: Spec, context: LayerContext): Operator[];
  tensors(spec: Spec, context: TensorContext): ActivationTensor[];
  /** What it is in a few plain words, with its sizes: "attention, 32 query and 8 key/value heads of 128". */
  words(spec: Spec): string;
  splitSizes(spec: Spec): SplitSize[];
}

export const noParameters: PartParameters = { sharded: 0, replicated: 0, routed: 0, activeRouted: 0 };
