/**
 * Megatron-LM's command-line flags → model, plan and precision. What a flag leaves out takes Megatron's own default.
 * Source: Megatron-LM megatron/training/arguments.py; traps in docs/FORMATS.md.
 */
import type { JobInput, ModelInput, PlanInput } from '../../schema/index.ts';

/** A set of flags as a record of runs keeps it: values are text, numbers or `true`. */
export class MegatronArgs {
  private readonly args: Readonly<Record<string, unknown>>;

  constructor(args: Readonly<Record<string, unknown>>) {
    this.args = args;
  }

  has(flag: string): boolean {
    return this.args[`--${flag}`] !== undefined && this.args[`--${flag}`] !== false;
  }

  text(flag: string): string | null {
    const value = this.args[`--${flag}`];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  }

  number(flag: string): number | null {
    const value = Number(this.text(flag) ?? Number.NaN);
    return Number.isFinite(value) ? value : null;
  }
}

/** Sizes of the vocabularies that tokenizers of the test suites bring. */
const vocabularies: Record<string, number> = {
  GPT2BPETokenizer: 50_257,
  Llama2Tokenizer: 32_000,
  /** Of the suites' `nemotron_2_256k` model. */
  GPTSentencePieceTokenizer: 256_000,
};

/** `make_vocab_size_divisible_by` of the flags, before tp. */
const VOCABULARY_UNIT = 128;

function vocabularyOf(args: MegatronArgs, tp: number): number {
  const tokens = args.number('vocab-size') ?? vocabularies[args.text('tokenizer-type') ?? 'GPT2BPETokenizer'] ?? 0;
  const unit = (args.number('make-vocab-size-divisible-by') ?? VOCABULARY_UNIT) * tp;
  return Math.ceil(tokens / unit) * unit;
}

/** `([0]*3+[1]*11)` → 3 dense layers first; a number n → every n-th layer. */
function expertLayersOf(frequency: string | null): { denseFirst: number; everyN: number } {
  const list = /^\(?\[0\]\*(\d+)\+\[1\]\*\d+\)?$/.exec(frequency ?? '');
  if (list !== null) return { denseFirst: Number(list[1]), everyN: 1 };
  return { denseFirst: 0, everyN: Number(frequency ?? 1) || 1 };
}

function moeOf(args: MegatronArgs, ffn: number): ModelInput['moe'] {
  const numExperts = args.number('num-experts');
  if (numExperts === null) return null;
  return {
    numExperts,
    expertsPerToken: args.number('moe-router-topk') ?? 2,
    expertFfnHiddenSize: args.number('moe-ffn-hidden-size') ?? ffn,
    sharedExpertFfnHiddenSize: args.number('moe-shared-expert-intermediate-size') ?? 0,
    ...expertLayersOf(args.text('moe-layer-freq')),
    router: args.text('moe-router-load-balancing-type'),
  };
}

function mlaOf(args: MegatronArgs): ModelInput['mla'] {
  if (!args.has('multi-latent-attention')) return null;
  return {
    qLoraRank: args.number('q-lora-rank'),
    kvLoraRank: args.number('kv-lora-rank') ?? 32,
    qkNopeHeadDim: args.number('qk-head-dim') ?? 128,
    qkRopeHeadDim: args.number('qk-pos-emb-head-dim') ?? 64,
    vHeadDim: args.number('v-head-dim') ?? 128,
  };
}

/** Recipes since Llama train without dropout; GPT-style ones keep Megatron's default of 0.1. */
const trainsWithDropout = (args: MegatronArgs): boolean =>
  !args.has('squared-relu') && args.text('normalization') !== 'RMSNorm';

/** Layers that multi-token prediction adds: a pattern writes them after `/`, once per further token. */
function mtpLayersOf(args: MegatronArgs): number {
  return args.number('mtp-num-layers') ?? 0;
}

/** Throws nothing: sizes that are missing stay absent and the model's schema names them. */
export function modelOfArgs(args: MegatronArgs, tp: number): ModelInput {
  const hiddenSize = args.number('hidden-size') ?? undefined;
  const numHeads = args.number('num-attention-heads') ?? undefined;
  const ffn = args.number('ffn-hidden-size') ?? 4 * (hiddenSize ?? 0);
  const pattern = args.text('hybrid-layer-pattern') ?? args.text('hybrid-override-pattern');
  const hasBias = !args.has('disable-bias-linear');
  const positions = args.text('position-embedding-type') ?? 'learned_absolute';
  return {
    name: 'from Megatron flags',
    family: 'gpt',
    ...(pattern === null ? { numLayers: args.number('num-layers') ?? undefined } : {}),
    hiddenSize,
    ffnHiddenSize: ffn,
    gatedFfn: args.has('swiglu'),
    numHeads,
    numKvHeads: args.has('group-query-attention') ? (args.number('num-query-groups') ?? undefined) : numHeads,
    headDim: args.number('kv-channels') ?? (hiddenSize ?? 0) / (numHeads ?? 1),
    vocabSize: vocabularyOf(args, tp),
    tiedEmbeddings: !args.has('untie-embeddings-and-output-weights'),
    positions: positions === 'learned_absolute' ? 'learned' : positions === 'rope' ? 'rotary' : 'none',
    maxPositions: args.number('max-position-embeddings'),
    normalization: args.text('normalization') === 'RMSNorm' ? 'rmsnorm' : 'layernorm',
    qkvBias: hasBias,
    ffnBias: hasBias,
    qkNorm: args.has('qk-layernorm'),
    dropout: trainsWithDropout(args),
    moe: moeOf(args, ffn),
    mla: mlaOf(args),
    layerPattern: pattern,
    mtpLayers: mtpLayersOf(args),
  };
}

const recomputeModules: Record<string, NonNullable<NonNullable<PlanInput['recompute']>['modules']>[number]> = {
  core_attn: 'core-attention',
  mlp: 'mlp',
  layernorm: 'norms',
  moe_act: 'moe-activation',
  moe: 'moe',
  mla_up_proj: 'mla-up-projection',
  shared_experts: 'shared-experts',
};

function recomputeOf(args: MegatronArgs): PlanInput['recompute'] {
  const granularity = args.text('recompute-granularity');
  if (granularity === 'full') {
    // `uniform` covers all layers in groups; `block` the first N of each stage
    const isBlock = args.text('recompute-method') === 'block';
    return { mode: 'full', layersPerStage: isBlock ? args.number('recompute-num-layers') : null };
  }
  if (granularity !== 'selective') return { mode: 'none' };
  const named = (args.text('recompute-modules') ?? 'core_attn')
    .replaceAll(/[[\],]/g, ' ')
    .trim()
    .split(/\s+/);
  return { mode: 'selective', modules: named.flatMap((name) => recomputeModules[name] ?? []) };
}

/** Stages that embedding and loss count as layers of, or a first and last stage of their own size. */
function layoutOf(args: MegatronArgs, pp: number): string | null {
  const layout = args.text('pipeline-model-parallel-layout');
  if (layout !== null) return layout;
  const layers = args.number('num-layers') ?? 0;
  const first = args.number('decoder-first-pipeline-num-layers');
  const last = args.number('decoder-last-pipeline-num-layers');
  if (first !== null && last !== null && pp > 2) {
    const middle = (layers - first - last) / (pp - 2);
    return `E${'t'.repeat(first)}|${`${'t'.repeat(middle)}|`.repeat(pp - 2)}${'t'.repeat(last)}L`;
  }
  if (!args.has('account-for-embedding-in-pipeline-split')) return null;
  const stages = pp * (args.number('num-virtual-stages-per-pipeline-rank') ?? 1);
  const each = (layers + 2) / stages;
  return `E${'t'.repeat(each - 1)}|${`${'t'.repeat(each)}|`.repeat(stages - 2)}${'t'.repeat(each - 1)}L`;
}

function chunksOf(args: MegatronArgs, pp: number, layout: string | null): number {
  const chunks = args.number('num-virtual-stages-per-pipeline-rank');
  if (chunks !== null) return chunks;
  const perChunk = args.number('num-layers-per-virtual-pipeline-stage');
  if (perChunk !== null && pp > 1) return (args.number('num-layers') ?? 0) / pp / perChunk;
  if (layout === null) return 1;
  const expanded = layout.replaceAll(/\(([^()]*)\)\*(\d+)/g, (_, unit: string, times: string) =>
    unit.repeat(Number(times)),
  );
  return expanded.split('|').length / pp;
}

export interface MegatronDegrees {
  tp: number;
  pp: number;
  cp: number;
  ep: number;
  etp: number;
  dp: number;
}

function shardingOf(args: MegatronArgs, { dp, cp }: MegatronDegrees): PlanInput['sharding'] {
  const strategy = args.text('data-parallel-sharding-strategy');
  const instances = args.number('num-distributed-optimizer-instances') ?? 1;
  const group = instances > 1 ? { size: (dp * cp) / instances } : ('dp-cp' as const);
  if (args.has('use-megatron-fsdp') && strategy === 'optim_grads_params') return { zeroStage: 3, group };
  if (args.has('use-megatron-fsdp') && strategy === 'optim_grads') return { zeroStage: 2, group };
  return { zeroStage: args.has('use-distributed-optimizer') ? 1 : 0, group };
}

/** Megatron's kernels by flag: its own implementation has no flash attention unless asked for. */
function attentionKernelOf(args: MegatronArgs): 'flash' | 'unfused' {
  if (args.text('attention-backend') === 'unfused') return 'unfused';
  const isLocal = args.text('transformer-impl') === 'local';
  return isLocal && !args.has('use-flash-attn') && args.text('attention-backend') !== 'flash' ? 'unfused' : 'flash';
}

/** Megatron's own fusion is its compiler's; Transformer Engine's is one kernel. */
function lossOf(args: MegatronArgs): boolean | 'compiled' {
  if (!args.has('cross-entropy-loss-fusion')) return false;
  return args.text('cross-entropy-fusion-impl') === 'te' ? true : 'compiled';
}

export function planOfArgs(args: MegatronArgs, degrees: MegatronDegrees): PlanInput {
  const layout = degrees.pp > 1 ? layoutOf(args, degrees.pp) : null;
  const vpp = chunksOf(args, degrees.pp, layout);
  const groupSize = args.number('microbatch-group-size-per-virtual-pipeline-stage');
  return {
    ...degrees,
    vpp,
    microBatchSize: args.number('micro-batch-size') ?? 1,
    sequenceParallel: args.has('sequence-parallel') && degrees.tp > 1,
    schedule: { name: vpp > 1 ? 'interleaved-1f1b' : '1f1b', groupSize: vpp > 1 ? groupSize : null },
    recompute: recomputeOf(args),
    sharding: shardingOf(args, degrees),
    cpMethod: 'ring',
    overlap: {
      gradReduce: args.has('overlap-grad-reduce'),
      paramGather: args.has('overlap-param-gather'),
      expert: args.has('overlap-moe-expert-parallel-comm'),
    },
    layout,
    runtime: {
      fusedCrossEntropy: lossOf(args),
      attentionKernel: attentionKernelOf(args),
    },
  };
}

/** Weights, gradients and states as Megatron holds them: fp32 main gradients with bf16, none with fp16. */
export function precisionOfArgs(args: MegatronArgs): NonNullable<JobInput['precision']> {
  const weights = args.has('bf16') ? 'bf16' : args.has('fp16') ? 'fp16' : 'fp32';
  const gradients = args.has('fp16') ? 'fp16' : args.has('grad-reduce-in-bf16') ? 'bf16' : 'fp32';
  const compute = args.has('fp8-format') ? 'fp8' : weights === 'fp32' ? 'bf16' : weights;
  return { compute, weights, gradients, optimizer: 'adam-fp32' };
}
