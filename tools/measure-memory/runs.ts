/** Rows of measured runs → a problem and a plan, and the peak that was read. */
import { completePlan } from '../../src/shared/engine/index.ts';
import type { Plan, PlanInput, Run } from '../../src/shared/schema/index.ts';
import { GB, GIB } from '../../src/shared/units.ts';
import type { Measured } from './golden.ts';
import { problemOf } from './problem.ts';

function recomputeOf(text: string | null | undefined): PlanInput['recompute'] {
  if (text == null || /^\s*(none|no|off)\b/i.test(text)) return { mode: 'none' };
  const modules = (
    [
      ['core-attention', /core_attn|core-attention|attention/i],
      ['norms', /layernorm|norms/i],
      ['mlp', /\bmlp\b/i],
      ['moe-activation', /moe_act/i],
      ['moe', /\bmoe\b/i],
      ['mla-up-projection', /mla_up/i],
      ['shared-experts', /shared_exp/i],
    ] as const
  ).flatMap(([module, pattern]) => (pattern.test(text) ? [module] : []));
  if (/selective/i.test(text)) return { mode: 'selective', modules };
  return { mode: 'full' };
}

type Sizes = Record<string, number | null> | null | undefined;

const kinds: [RegExp, Measured['kind'], number][] = [
  [/max_allocated GiB/, 'allocated', GIB],
  [/max reserved/, 'reserved', GIB],
  [/GB max allocated/, 'allocated', GB],
  [/peak over devices/, 'allocated', GB],
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
  const isTitan = /titan/i.test(run.framework ?? '');
  const isOld = /bigscience|deepspeed/i.test(run.framework ?? '');
  const isGpt = !(model.gated ?? false);
  const dp = parallel.dp ?? gpus / (tp * pp * cp);
  const mbs = parallel.mbs ?? 1;
  const moe = model.moe as Sizes;
  const mla = model.mla as Sizes;
  const isHalf = isOld && !/bf16/.test(parallel.precision ?? '');
  const precision =
    isHalf || (/fp16/.test(parallel.precision ?? '') && !/bf16/.test(parallel.precision ?? '')) ? 'fp16' : 'bf16';
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
      vocabSize: model.vocab ?? 51_200,
      tiedEmbeddings: model.tied_embeddings ?? isGpt,
      positions: isGpt ? 'learned' : 'rotary',
      maxPositions: model.seq ?? null,
      normalization: isGpt ? 'layernorm' : 'rmsnorm',
      qkvBias: isGpt,
      ffnBias: isGpt,
      dropout: isGpt && !/fork/.test(run.framework ?? '') && !/176B/.test(run.source?.title ?? ''),
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
        weights: isTitan ? 'fp32' : precision,
        gradients: precision === 'fp16' ? 'fp16' : 'fp32',
        optimizer: 'adam-fp32',
      },
      framework: { family: 'megatron-lm', version: isOld ? '2022' : '2025' },
    },
  });
  const zero = String(parallel.zero ?? '');
  const plan: Plan = completePlan(problem, {
    tp,
    pp,
    cp,
    ep: parallel.ep ?? 1,
    etp: parallel.etp ?? (moe == null ? 1 : tp),
    dp,
    vpp: parallel.vp ?? 1,
    microBatchSize: mbs,
    sequenceParallel: tp > 1 && (parallel.sp ?? !isOld),
    recompute: recomputeOf(parallel.recompute),
    sharding: { zeroStage: isTitan ? 3 : /1/.test(zero) || (parallel.dist_opt ?? !isOld) ? 1 : 0 },
    layout: layoutOf(model.layers, pp, parallel.vp ?? 1),
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
