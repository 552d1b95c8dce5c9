/** The parts that layers are made of, by the names of the model schema. A new kind is one file and one line here. */
import type { Ffn, LayerKind, Mixer } from '../../../schema/index.ts';
import type { LayerContext, Operator } from '../operators.ts';
import { attention } from './attention.ts';
import { compressed } from './compressed.ts';
import { denseFfn } from './dense-ffn.ts';
import { gatedDelta } from './gated-delta.ts';
import { kimiDelta } from './kimi-delta.ts';
import { linearAttention } from './linear-attention.ts';
import { mamba1 } from './mamba1.ts';
import { mamba2 } from './mamba2.ts';
import { mla } from './mla.ts';
import { moe } from './moe.ts';
import { none } from './none.ts';
import { shortConv } from './short-conv.ts';
import type { ActivationTensor, ModelShape, Part, PartParameters, SplitSize, TensorContext } from './types.ts';

export type {
  ActivationTensor,
  ModelShape,
  PartParameters,
  RecomputeModule,
  SplitSize,
  TensorContext,
} from './types.ts';

const mixers = {
  attention,
  mla,
  mamba1,
  mamba2,
  'gated-delta': gatedDelta,
  'linear-attention': linearAttention,
  'kimi-delta': kimiDelta,
  'short-conv': shortConv,
  compressed,
  none,
} as const satisfies Record<Mixer['type'], unknown>;
const ffns = { dense: denseFfn, moe, none } as const satisfies Record<Ffn['type'], unknown>;

function partOf<Spec extends { type: string }>(parts: object, spec: Spec): Part<Spec> {
  const part = (parts as Record<string, Part<Spec> | undefined>)[spec.type];
  if (part === undefined) throw new Error(`layer part ${spec.type} reached the engine`);
  return part;
}

const mixerPart = (spec: Mixer) => partOf(mixers, spec);
const ffnPart = (spec: Ffn) => partOf(ffns, spec);

/** Parameters of both parts of a layer; norms are counted by the caller. */
export function partParameters({ mixer, ffn }: LayerKind, model: ModelShape): PartParameters {
  const a = mixerPart(mixer).parameters(mixer, model);
  const b = ffnPart(ffn).parameters(ffn, model);
  return {
    sharded: a.sharded + b.sharded,
    replicated: a.replicated + b.replicated,
    routed: a.routed + b.routed,
    activeRouted: a.activeRouted + b.activeRouted,
  };
}

/** Forward FLOPs per token of a layer's linear maps. */
export function partLinearFlops({ mixer, ffn }: LayerKind, model: ModelShape): number {
  return mixerPart(mixer).linearFlops(mixer, model) + ffnPart(ffn).linearFlops(ffn, model);
}

/** Forward FLOPs per token of what depends on the sequence. */
export function partCoreFlops({ mixer, ffn }: LayerKind, model: ModelShape, seqLen: number): number {
  return mixerPart(mixer).coreFlops(mixer, model, seqLen) + ffnPart(ffn).coreFlops(ffn, model, seqLen);
}

/** Kernels and collectives of both parts. */
export function partOperators({ mixer, ffn }: LayerKind, context: LayerContext): Operator[] {
  return [...mixerPart(mixer).operators(mixer, context), ...ffnPart(ffn).operators(ffn, context)];
}

/** Tensors that both parts keep. */
export function partTensors({ mixer, ffn }: LayerKind, context: TensorContext): ActivationTensor[] {
  return [...mixerPart(mixer).tensors(mixer, context), ...ffnPart(ffn).tensors(ffn, context)];
}

/** Both parts in a few plain words. */
export function partWords({ mixer, ffn }: LayerKind): { mixer: string; ffn: string } {
  return { mixer: mixerPart(mixer).words(mixer), ffn: ffnPart(ffn).words(ffn) };
}

/** Sizes that degrees must divide. */
export function splitSizes({ mixer, ffn }: LayerKind): SplitSize[] {
  return [...mixerPart(mixer).splitSizes(mixer), ...ffnPart(ffn).splitSizes(ffn)];
}

/** How many of a layer's two parts there are: each has a residual addition. */
export function numBlocks({ mixer, ffn }: LayerKind): number {
  return (mixer.type === 'none' ? 0 : 1) + (ffn.type === 'none' ? 0 : 1);
}
