/** Rows of measured runs → a problem and a plan, and the peak that was read. */
import { completePlan } from '../../src/shared/engine/index.ts';
import {
  frameworkOf,
  precisionOf,
  recipePrecision,
  recomputeOf,
  scheduleOf,
  selectiveOf,
} from '../../src/shared/formats/cases/index.ts';
import type { Plan, Run } from '../../src/shared/schema/index.ts';
import { GB, GIB } from '../../src/shared/units.ts';
import type { Measured } from './golden.ts';
import { problemOf } from './problem.ts';

type Sizes = Record<string, number | null> | null | undefined;

const kinds: [RegExp, Measured['kind'], number][] = [
  [/max_allocated GiB/, 'allocated', GIB],
  [/max reserved/, 'reserved', GIB],
  [/GB max allocated/, 'allocated', GB],
  [/GB as printed/, 'allocated', GIB], // Megatron-Bridge, as trainyard cases reads it
  [/peak over devices/, 'allocated', GIB], // sail-sg's fork prints max_memory_allocated in GiB as GB
  [/first\/last stage nodes/, 'total', GIB],
];

/** An uneven split as DeepSpeed cuts it, where layers do not divide: the first stages take one more. */
function layoutOf(layers: number, pp: number, vpp: number): string | null {
  const stages = pp * vpp;
  if (layers % stages === 0) return null;
  const of = (stage: number) => 't'.repeat(Math.floor(layers / stages) + (stage < layers % stages ? 1 : 0));
  const list = Array.from({ length: stages }, (_, stage) => of(stage));
  return `E${list.join('|')}L`;
}

/**
 * How a run of "Balancing Pipeline Parallelism with Vocabulary Parallelism" (sail-sg's fork of Megatron-LM) splits the
 * vocabulary; null for other runs. Its launch script trains in fp16, whose gradients are fp16 as well, with Megatron's
 * dropout (examples/pretrain_zero_bubble.sh). Its "32k" are 32,000 rows: between two sizes the measured peaks differ by
 * 16.0 bytes per parameter then, and by 15.6 were they 32,768.
 */
function vocabularyMethodOf({ framework, notes }: Run): string | null {
  if (!/sail-sg/.test(framework ?? '')) return null;
  return /method (\S+)/.exec(notes ?? '')?.[1] ?? '';
}

export function readMemoryRun(run: Run): Measured | string {
  const { model, parallel, cluster, measured } = run;
  if (measured.peak_mem_gb == null) return 'no memory was measured';
  if ((run.flags ?? []).map(String).some((flag) => /misconfigured|not the full/.test(flag)))
    return 'flagged: not the model it says';
  const heads = model.heads ?? Math.max(1, Math.round((model.hidden ?? 0) / 128));
  const gpus = cluster.total_gpus ?? 0;
  if (model.layers == null || model.hidden == null || gpus === 0) return 'sizes are unknown';
  const tp = parallel.tp ?? 1;
  const pp = parallel.pp ?? 1;
  const cp = parallel.cp ?? 1;
  const framework = frameworkOf(run.framework, run.source?.title);
  const vocabulary = vocabularyMethodOf(run);
  if (vocabulary !== null && vocabulary !== 'Baseline')
    return 'splits the vocabulary over the pipeline, or moves layers by a rule that the record leaves out';
  const isFork = vocabulary !== null;
  const isTitan = framework.family === 'fsdp';
  const isOld = framework.family === 'deepspeed' || /jean zay/i.test(run.source?.title ?? '');
  const isGpt = !(model.gated ?? false);
  const dp = parallel.dp ?? gpus / (tp * pp * cp);
  const mbs = parallel.mbs ?? 1;
  const moe = model.moe as Sizes;
  const mla = model.mla as Sizes;
  const isHalf = isFork || (isOld && !/bf16/.test(parallel.precision ?? ''));
  const stated = precisionOf(parallel.precision);
  const precision = isHalf ? 'fp16' : stated === null || stated === 'fp4' ? 'bf16' : stated;
  const schedule = scheduleOf(isFork ? run.notes : /-(v-half|v-min|zbv)$/.exec(run.id)?.[1]);
  const isV = schedule !== null && /^(v-|zb-v)/.test(schedule);
  const problem = problemOf(cluster.gpu ?? '', {
    numAccelerators: gpus,
    model: {
      name: model.name ?? run.id,
      family: isGpt ? 'gpt' : 'llama',
      numLayers: model.layers,
      hiddenSize: model.hidden,
      ffnHiddenSize: model.ffn ?? 4 * model.hidden,
      gatedFfn: !isGpt,
      numHeads: heads,
      numKvHeads: model.kv_heads ?? heads,
      headDim: model.head_dim ?? Math.round(model.hidden / heads),
      vocabSize: isFork ? ((model.vocab ?? 0) / 1024) * 1000 : (model.vocab ?? 51_200),
      tiedEmbeddings: model.tied_embeddings ?? isGpt,
      positions: isGpt ? 'learned' : 'rotary',
      maxPositions: model.seq ?? null,
      normalization: isGpt ? 'layernorm' : 'rmsnorm',
      qkvBias: isGpt,
      ffnBias: isGpt,
      dropout: isGpt && !/176B/.test(run.source?.title ?? ''),
      moe:
        moe == null
          ? null
          : {
              numExperts: moe['experts'] ?? 1,
              expertsPerToken: moe['topk'] ?? 1,
              expertFfnHiddenSize: moe['moe_ffn'] ?? 1,
              sharedExpertFfnHiddenSize: moe['shared_ffn'] ?? 0,
              denseFirst: moe['dense_first'] ?? 0,
            },
      mla:
        mla == null
          ? null
          : {
              qLoraRank: mla['q_lora'] ? mla['q_lora'] : null,
              kvLoraRank: mla['kv_lora'] ?? 1,
              qkNopeHeadDim: mla['qk_nope'] ?? 1,
              qkRopeHeadDim: mla['qk_rope'] ?? 1,
              vHeadDim: mla['v_head'] ?? 1,
            },
    },
    job: {
      kind: 'training',
      globalBatchSize: parallel.gbs ?? mbs * dp * 4 * pp,
      seqLen: model.seq ?? 2048,
      precision: {
        compute: precision,
        weights: isTitan ? 'fp32' : precision === 'fp8' ? 'bf16' : precision,
        gradients: precision === 'fp16' ? 'fp16' : 'fp32',
        optimizer: 'adam-fp32',
        ...recipePrecision({ framework: run.framework, offload: null }, precision, []),
      },
      framework: {
        family: framework.family === 'fsdp' || framework.family === 'deepspeed' ? framework.family : 'megatron-lm',
        version: framework.version ?? (isOld ? '2022' : isTitan ? null : '2025'),
        stack: framework.stack,
      },
    },
  });
  const zero = String(parallel.zero ?? '');
  const vpp = parallel.vp ?? (isV ? 2 : 1);
  const recompute = selectiveOf(recomputeOf(parallel.recompute), framework);
  const plan: Plan = completePlan(problem, {
    tp,
    pp,
    cp,
    ep: parallel.ep ?? 1,
    etp: parallel.etp ?? (moe == null ? 1 : tp),
    dp,
    vpp,
    microBatchSize: mbs,
    sequenceParallel: tp > 1 && (parallel.sp ?? !isOld),
    recompute: recompute ?? { mode: 'none' },
    ...(schedule === null ? {} : { schedule: { name: schedule } }),
    sharding: { zeroStage: isTitan ? 3 : /1/.test(zero) || (parallel.dist_opt ?? !isOld) ? 1 : 0 },
    layout: layoutOf(model.layers, pp, vpp),
    runtime: { fusedCrossEntropy: run.id.includes('cef') ? !run.id.includes('nocef') : false },
  });
  const kind = kinds.find(([pattern]) => pattern.test(measured.peak_mem_kind ?? ''));
  return {
    id: run.id,
    group: run.source?.title ?? 'unknown source',
    problem,
    plan,
    stage: null,
    kind: kind?.[1] ?? 'total',
    measuredBytes: measured.peak_mem_gb * (kind?.[2] ?? GB),
    residentBytes: null,
  };
}
