/**
 * Megatron-Core's flags of one run → scenario and plan. What a flag leaves out takes Megatron's default
 * (megatron/training/arguments.py): FFN 4·h, as many key/value heads as heads, head size h ÷ heads, ETP = TP, tied
 * embeddings, LayerNorm, biases, dropout 0.1, learned positions, fp32 gradients, no distributed optimizer.
 */
import { SCENARIO_FORMAT, type Accelerator, type PlanInput, type ScenarioInput } from '../../schema/index.ts';
import { acceleratorNamed } from './accelerators.ts';
import { recomputeOf } from './plan.ts';
import type { GoldenRow } from './schema.ts';

export interface GoldenReading {
  scenario: ScenarioInput;
  plan: PlanInput;
  assumed: string[];
  /** Whether the number of accelerators is stated or inferred, not only bounded from below. */
  isWorldKnown: boolean;
}

/** Flags of one run, under their long names without dashes. */
class Flags {
  readonly #args: Readonly<Record<string, unknown>>;

  constructor(args: Readonly<Record<string, unknown>>) {
    this.#args = args;
  }

  number(name: string): number | null {
    const value = this.#args[`--${name}`];
    const number = typeof value === 'string' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) ? number : null;
  }

  text(name: string): string | null {
    const value = this.#args[`--${name}`];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  }

  has(name: string): boolean {
    const value = this.#args[`--${name}`];
    return value !== undefined && value !== null && value !== false && value !== 'false';
  }
}

/** Rows of a tokenizer's vocabulary. Source: the file's own note; Llama 2 and GPT-2 tokenizers. */
function vocabularyOf(flags: Flags): { size: number; note: string } {
  const stated = flags.number('vocab-size');
  if (stated !== null) return { size: stated, note: '' };
  const tokenizer = flags.text('tokenizer-type') ?? 'GPT2BPETokenizer';
  if (/Llama2/i.test(tokenizer)) return { size: 32_000, note: 'vocabulary: 32000 (Llama 2 tokenizer)' };
  if (/SentencePiece/i.test(tokenizer)) return { size: 256_000, note: 'vocabulary: 256000 (nemotron_2_256k)' };
  if (/TikToken/i.test(tokenizer)) return { size: 131_072, note: 'vocabulary: 131072 (multilingual tiktoken)' };
  if (/GPT2BPE/i.test(tokenizer)) return { size: 50_257, note: 'vocabulary: 50257 (GPT-2 BPE)' };
  return { size: 50_257, note: `vocabulary: 50257 (GPT-2 BPE; ${tokenizer} names no size)` };
}

/** `([0]*3+[1]*11)`, `[0,1]*7`, an interval n, or nothing → for each layer whether it has experts; null where unreadable. */
export function expertLayersOf(text: string | null, numLayers: number): boolean[] | null {
  if (text === null) return new Array<boolean>(numLayers).fill(true);
  if (/^\d+$/.test(text)) return Array.from({ length: numLayers }, (_, layer) => layer % Number(text) === 0);
  const terms = text.replace(/[()\s]/g, '').split('+');
  const layers = terms.flatMap((term) => {
    const found = /^\[([01,]+)\](?:\*(\d+))?$/.exec(term);
    if (found === null) return [null];
    const unit = (found[1] ?? '').split(',').map((one) => one === '1');
    return Array.from({ length: Number(found[2] ?? 1) }, () => unit).flat();
  });
  return layers.includes(null) || layers.length !== numLayers ? null : (layers as boolean[]);
}

type ModelInput = ScenarioInput['model'];

function expertsOf(flags: Flags, numLayers: number, ffn: number): Pick<ModelInput, 'moe'> | string {
  const numExperts = flags.number('num-experts');
  if (numExperts === null) return { moe: null };
  const layers = expertLayersOf(flags.text('moe-layer-freq'), numLayers);
  if (layers === null) return `--moe-layer-freq ${flags.text('moe-layer-freq')} is not understood`;
  const denseFirst = layers.indexOf(true);
  const second = layers.indexOf(true, denseFirst + 1);
  const everyN = second < 0 ? 1 : second - denseFirst;
  return {
    moe: {
      numExperts,
      expertsPerToken: flags.number('moe-router-topk') ?? 2,
      expertFfnHiddenSize: flags.number('moe-ffn-hidden-size') ?? ffn,
      sharedExpertFfnHiddenSize: flags.number('moe-shared-expert-intermediate-size') ?? 0,
      sharedExpertGate: false,
      denseFirst: Math.max(0, denseFirst - everyN + 1),
      everyN,
      router: null,
    },
  };
}

function latentOf(flags: Flags): Pick<ModelInput, 'mla'> {
  if (!flags.has('multi-latent-attention')) return { mla: null };
  return {
    mla: {
      qLoraRank: flags.number('q-lora-rank'),
      kvLoraRank: flags.number('kv-lora-rank') ?? 512,
      qkNopeHeadDim: flags.number('qk-head-dim') ?? 128,
      qkRopeHeadDim: flags.number('qk-pos-emb-head-dim') ?? 64,
      vHeadDim: flags.number('v-head-dim') ?? 128,
    },
  };
}

/** Recipes since Llama train without dropout; the records leave its flags out. GPT-style ones keep Megatron's 0.1. */
const isWithoutDropout = (flags: Flags): boolean =>
  flags.has('squared-relu') || flags.text('normalization') === 'RMSNorm';

/** Megatron's own fusion is its compiler's; Transformer Engine's is one kernel. */
function lossOf(flags: Flags): boolean | 'compiled' {
  if (!flags.has('cross-entropy-loss-fusion')) return false;
  return flags.text('cross-entropy-fusion-impl') === 'te' ? true : 'compiled';
}

/** Optimizer by its flag and the precision of its moments. */
function optimizerOf(flags: Flags): 'muon' | 'adam-fp32' {
  return /muon/.test(flags.text('optimizer') ?? '') ? 'muon' : 'adam-fp32';
}

function modelOf(flags: Flags, assumed: string[]): ModelInput | string {
  const [hiddenSize, numHeads] = [flags.number('hidden-size'), flags.number('num-attention-heads')];
  const pattern = flags.text('hybrid-layer-pattern') ?? flags.text('hybrid-override-pattern');
  const numLayers =
    pattern === null ? flags.number('num-layers') : (pattern.split('/')[0] ?? '').replaceAll('|', '').length;
  if (hiddenSize === null || numHeads === null || numLayers === null) return 'layers, width or heads are not stated';
  const gated = flags.has('swiglu');
  const ffn =
    flags.number('ffn-hidden-size') ?? (gated ? Math.floor((4 * hiddenSize * 2) / 3 / 64) * 64 : 4 * hiddenSize);
  const experts = expertsOf(flags, numLayers, ffn);
  if (typeof experts === 'string') return experts;
  const vocabulary = vocabularyOf(flags);
  if (vocabulary.note !== '') assumed.push(vocabulary.note);
  const positions = flags.text('position-embedding-type');
  const hasBias = !flags.has('disable-bias-linear');
  const rms = flags.text('normalization') === 'RMSNorm';
  return {
    preset: null,
    name: 'Megatron-Core test model',
    family: gated ? 'llama' : 'gpt',
    numLayers,
    hiddenSize,
    ffnHiddenSize: ffn,
    gatedFfn: gated,
    numHeads,
    numKvHeads: flags.has('group-query-attention') ? (flags.number('num-query-groups') ?? 1) : numHeads,
    headDim: flags.number('kv-channels') ?? hiddenSize / numHeads,
    vocabSize: vocabulary.size,
    tiedEmbeddings: !flags.has('untie-embeddings-and-output-weights'),
    positions:
      positions === 'rope' || positions === 'mrope' || positions === 'yarn'
        ? 'rotary'
        : positions === 'none'
          ? 'none'
          : 'learned',
    maxPositions: flags.number('max-position-embeddings'),
    normalization: rms ? 'rmsnorm' : 'layernorm',
    qkvBias: hasBias,
    ffnBias: hasBias,
    qkNorm: flags.has('qk-layernorm'),
    dropout: flags.number('hidden-dropout') !== 0 && !isWithoutDropout(flags),
    ...experts,
    ...latentOf(flags),
    layerPattern: pattern === null ? null : pattern.replaceAll('|', ''),
    mtpLayers: flags.number('mtp-num-layers') ?? 0,
  };
}

/** Pipeline layout from whichever way the flags give it; null = even. */
function layoutOf(flags: Flags, numLayers: number, pp: number, vpp: number): string | null {
  const text = flags.text('pipeline-model-parallel-layout');
  if (text !== null) return text;
  const stages = pp * vpp;
  const [first, last] = [
    flags.number('decoder-first-pipeline-num-layers'),
    flags.number('decoder-last-pipeline-num-layers'),
  ];
  const layers = (count: number) => 't'.repeat(count);
  if (first !== null || last !== null) {
    const ends = (first === null ? 0 : 1) + (last === null ? 0 : 1);
    const each = (numLayers - (first ?? 0) - (last ?? 0)) / (pp - ends);
    const counts = Array.from({ length: pp }, (_, stage) =>
      stage === 0 ? (first ?? each) : stage === pp - 1 ? (last ?? each) : each,
    );
    return `E${counts.map(layers).join('|')}L`;
  }
  const [embedding, loss] = [
    flags.has('account-for-embedding-in-pipeline-split'),
    flags.has('account-for-loss-in-pipeline-split'),
  ];
  if (!embedding && !loss) return null;
  const each = (numLayers + Number(embedding) + Number(loss)) / stages;
  const counts = Array.from(
    { length: stages },
    (_, stage) => each - Number(embedding && stage === 0) - Number(loss && stage === stages - 1),
  );
  return `E${counts.map(layers).join('|')}L`;
}

function chunksOf(flags: Flags, numLayers: number, pp: number): number {
  const perStage = flags.number('num-layers-per-virtual-pipeline-stage');
  const perRank = flags.number('num-virtual-stages-per-pipeline-rank');
  const layout = flags.text('pipeline-model-parallel-layout');
  if (perRank !== null) return perRank;
  if (perStage !== null) return numLayers / pp / perStage;
  if (layout === null) return 1;
  const expanded = layout.replace(/\(([^()]*)\)\*(\d+)/g, (_, inner: string, times: string) =>
    inner.repeat(Number(times)),
  );
  return Math.max(1, expanded.split('|').length / pp);
}

function recomputation(flags: Flags): PlanInput['recompute'] {
  const granularity = flags.text('recompute-granularity');
  if (granularity === null) return { mode: 'none' };
  if (granularity === 'full') {
    const isBlock = flags.text('recompute-method') === 'block';
    return { mode: 'full', layersPerStage: isBlock ? flags.number('recompute-num-layers') : null };
  }
  return recomputeOf(flags.text('recompute-modules') ?? 'core_attn') ?? { mode: 'selective' };
}

const shardingStages = { no_shard: 0, optim: 1, optim_grads: 2, optim_grads_params: 3 } as const;

function sharding(flags: Flags, dp: number): PlanInput['sharding'] {
  const strategy = flags.text('data-parallel-sharding-strategy');
  const isFsdp = flags.has('use-megatron-fsdp') || flags.has('use-torch-fsdp2');
  const stage = isFsdp && strategy !== null ? shardingStages[strategy as keyof typeof shardingStages] : null;
  const instances = flags.number('num-distributed-optimizer-instances') ?? 1;
  return {
    zeroStage: stage ?? (flags.has('use-distributed-optimizer') ? 1 : 0),
    ...(instances > 1 ? { group: { size: dp / instances } } : {}),
  };
}

function planOf(flags: Flags, numLayers: number, numAccelerators: number): PlanInput {
  const degree = (name: string) => flags.number(`${name}-parallel-size`) ?? 1;
  const [tp, pp, cp, ep] = [
    degree('tensor-model'),
    degree('pipeline-model'),
    degree('context'),
    degree('expert-model'),
  ];
  const vpp = chunksOf(flags, numLayers, pp);
  const backend = flags.text('attention-backend');
  const isUnfused = backend === 'unfused' || (backend === null && flags.text('transformer-impl') === 'local');
  return {
    tp,
    pp,
    cp,
    ep,
    etp: flags.has('num-experts') ? (flags.number('expert-tensor-parallel-size') ?? tp) : 1,
    vpp,
    microBatchSize: flags.number('micro-batch-size') ?? 1,
    sequenceParallel: flags.has('sequence-parallel') && tp > 1,
    schedule: { groupSize: flags.number('microbatch-group-size-per-virtual-pipeline-stage') },
    recompute: recomputation(flags) ?? { mode: 'none' },
    sharding: sharding(flags, (numAccelerators / (tp * pp * cp)) * cp),
    layout: layoutOf(flags, numLayers, pp, vpp),
    overlap: {
      tp: flags.has('tp-comm-overlap'),
      gradReduce: flags.has('overlap-grad-reduce'),
      paramGather: flags.has('overlap-param-gather'),
      pipeline: vpp > 1,
      expert: flags.has('overlap-moe-expert-parallel-comm'),
    },
    runtime: {
      fusedCrossEntropy: lossOf(flags),
      attentionKernel: isUnfused ? 'unfused' : 'flash',
      cudaGraphs: 'none',
    },
  };
}

/** Numbers of accelerators that the file's authors inferred from recorded states, by a part of the run's name. */
export interface InferredWorld {
  idContains: string;
  numAccelerators: number;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * Accelerators of a run: as stated where its split fits, as inferred by the file, else the fewest that hold its split; the
 * peak hangs on it only through the sharding of optimizer states.
 */
function worldOf(
  row: GoldenRow,
  flags: Flags,
  inferred: readonly InferredWorld[],
  assumed: string[],
): { numAccelerators: number; isWorldKnown: boolean } {
  const degree = (name: string) => flags.number(`${name}-parallel-size`) ?? 1;
  const [tp, pp] = [degree('tensor-model'), degree('pipeline-model')];
  const dense = tp * pp * degree('context');
  if (row.gpus != null && row.gpus % dense === 0) return { numAccelerators: row.gpus, isWorldKnown: true };
  const found = inferred.find(({ idContains }) => row.id.includes(idContains.split('/')[0] ?? idContains));
  const experts = pp * degree('expert-model') * (flags.number('expert-tensor-parallel-size') ?? tp);
  const least = flags.has('num-experts') ? (dense * experts) / gcd(dense, experts) : dense;
  const world = found?.numAccelerators ?? least;
  assumed.push(
    `accelerators: ${world} (${found === undefined ? 'the fewest that hold the split' : 'as the file infers'})`,
  );
  return { numAccelerators: world, isWorldKnown: found !== undefined };
}

/** Reads one run; `skipped` says why it can't be. */
export function readGolden(
  row: GoldenRow,
  accelerators: readonly Accelerator[],
  inferred: readonly InferredWorld[] = [],
): GoldenReading | { skipped: string } {
  const flags = new Flags(row.args);
  const assumed: string[] = [];
  const accelerator = acceleratorNamed(row.hardware ?? '', accelerators);
  if (accelerator === null) return { skipped: `accelerator ${row.hardware ?? '(none)'} is not in the catalog` };
  const globalBatchSize =
    flags.number('global-batch-size') ?? Number(/^0:(\d+)/.exec(flags.text('step-batch-size-schedule') ?? '')?.[1]);
  if (!Number.isFinite(globalBatchSize)) return { skipped: 'the global batch is not stated' };
  const { numAccelerators, isWorldKnown } = worldOf(row, flags, inferred, assumed);
  const model = modelOf(flags, assumed);
  if (typeof model === 'string') return { skipped: model };
  if (flags.has('cuda-graph-impl')) assumed.push('CUDA graphs are left out: their pools are not planned');
  const compute = flags.has('fp8-format') ? 'fp8' : flags.has('bf16') ? 'bf16' : flags.has('fp16') ? 'fp16' : 'fp32';
  const gradients = flags.has('grad-reduce-in-bf16') ? 'bf16' : compute === 'fp16' ? 'fp16' : 'fp32';
  return {
    assumed,
    isWorldKnown,
    plan: planOf(flags, model.numLayers ?? 1, numAccelerators),
    scenario: {
      format: SCENARIO_FORMAT,
      version: 1,
      name: row.id.slice(0, 200),
      notes: '',
      constraints: { headroomFraction: 0, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
      objective: 'throughput',
      plan: null,
      results: null,
      model,
      cluster: { accelerator: accelerator.id, numAccelerators, price: null },
      job: {
        kind: 'training',
        task: 'pretrain',
        globalBatchSize,
        seqLen: flags.number('seq-length') ?? 1024,
        precision: {
          compute,
          gradients,
          optimizer: optimizerOf(flags),
          ...(flags.has('fp8-param-gather') ? { weights: 'fp8' as const } : {}),
        },
        framework: { family: 'megatron-lm', version: null },
      },
    },
  };
}
