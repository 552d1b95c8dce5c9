/** The split, schedule, recomputation, sharding and offload of a row, as a plan; what is not stated stays absent. */
import type { Fact } from '../../schema/facts.ts';
import type { Job, Plan, PlanInput } from '../../schema/index.ts';
import type { CaseFramework } from './frameworks.ts';
import type { CaseRow } from './schema.ts';

type Recompute = NonNullable<PlanInput['recompute']>;
type Module = Plan['recompute']['modules'][number];

const moduleNames: readonly [RegExp, Module][] = [
  [/core[_ ]?att/i, 'core-attention'],
  [/moe[_ ]?act/i, 'moe-activation'],
  [/mla[_ ]?up/i, 'mla-up-projection'],
  [/shared[_ ]?exp/i, 'shared-experts'],
  [/layer[_ ]?norm|\bnorms?\b/i, 'norms'],
  [/\bmlp\b/i, 'mlp'],
  [/\bmoe\b(?![_ ]?act)/i, 'moe'],
];

const modulesIn = (text: string): Module[] =>
  moduleNames.flatMap(([pattern, module]) => (pattern.test(text) ? [module] : []));

/**
 * Recomputation from a record's words ("full uniform 5", "selective: mlp+core_attn", "layernorm+moe_act", "none");
 * null where it says nothing.
 */
export function recomputeOf(text: string | null | undefined): Recompute | null {
  if (text == null || text.trim() === '') return null;
  if (/^\s*(none|no|off|false)\b/i.test(text)) return { mode: 'none' };
  const modules = modulesIn(text);
  if (modules.length > 0) return { mode: 'selective', modules };
  if (/full|block|uniform|checkpointing|\btrue\b/i.test(text)) {
    const layers = /block\D*(\d+)/i.exec(text)?.[1];
    return { mode: 'full', layersPerStage: layers === undefined ? null : Number(layers) };
  }
  return /select/i.test(text) ? { mode: 'selective' } : null;
}

/** What of the states is on the host: "cpu", "cpu optimizer+params", "optimizer CPU offload 25 %", "CPU Adam". */
export function offloadOf(text: string | null | undefined): NonNullable<PlanInput['offload']> | null {
  // paged states (bitsandbytes) lie in unified memory and move to the host as the device fills up
  if (text != null && /\bpaged\b/i.test(text)) return { optimizer: 1, weights: 0, activations: 0 };
  if (text == null || !/cpu|offload|nvme/i.test(text)) return null;
  const percent = /(\d+(?:\.\d+)?)\s*%/.exec(text)?.[1];
  const share = percent === undefined ? 1 : Number(percent) / 100;
  const optimizer = /optim|adam/i.test(text);
  const weights = /param|weight/i.test(text);
  const activations = /activ/i.test(text);
  // "cpu" alone means what ZeRO's offload templates do: optimizer states and parameters
  if (!optimizer && !weights && !activations) return { optimizer: share, weights: share, activations: 0 };
  return { optimizer: optimizer ? share : 0, weights: weights ? share : 0, activations: activations ? share : 0 };
}

const schedules: readonly [RegExp, Plan['schedule']['name']][] = [
  [/^zbb$/i, 'custom'], // Primus's own variant of the V schedules
  [/interleav.*zero|zero.*bubble|zb-?h1|^zb$/i, 'zb-h1'],
  [/zb-?(h2|2p)/i, 'zb-h2'],
  [/zb-?v|zbv/i, 'zb-v'],
  [/v-?half/i, 'v-half'],
  [/v-?min/i, 'v-min'],
  [/dualpipe-?v/i, 'dualpipe-v'],
  [/dualpipe/i, 'dualpipe'],
  [/gpipe/i, 'gpipe'],
  [/interleav|loop/i, 'interleaved-1f1b'],
  [/1f1b/i, '1f1b'],
];

export function scheduleOf(text: string | null | undefined): Plan['schedule']['name'] | null {
  return text == null ? null : (schedules.find(([pattern]) => pattern.test(text))?.[1] ?? null);
}

/** Data types of a record's precision; null where it names none that is known. */
export function precisionOf(text: string | null | undefined): Job['precision']['compute'] | null {
  if (text == null) return null;
  if (/fp4|nvfp4|mxfp4/i.test(text)) return 'fp4';
  if (/fp8|float8|mxfp8|hybrid|e4m3/i.test(text)) return /unspecified/i.test(text) ? 'bf16' : 'fp8';
  if (/bf16|bfloat16/i.test(text)) return 'bf16';
  if (/fp16|float16|\bhalf\b/i.test(text)) return 'fp16';
  return /fp32|float32/i.test(text) ? 'fp32' : null;
}

/** The ZeRO stage that a row states: by number, or 3 where it says over how many ranks weights are sharded. */
export function zeroStageOf(row: CaseRow): 0 | 1 | 2 | 3 | null {
  const { zero, fsdp } = row.parallel;
  const stage = zero === true ? 1 : zero === false ? 0 : Number(/[0-3]/.exec(String(zero ?? ''))?.[0] ?? Number.NaN);
  if (stage === 0 || stage === 1 || stage === 2 || stage === 3) return stage;
  return fsdp === true || (typeof fsdp === 'number' && fsdp > 0) ? 3 : null;
}

function shardingOf(row: CaseRow, dp: number | null): PlanInput['sharding'] {
  const zeroStage = zeroStageOf(row);
  const { zero_group: group, fsdp } = row.parallel;
  const size = typeof group === 'number' ? group : typeof fsdp === 'number' ? fsdp : null;
  return {
    ...(zeroStage === null ? {} : { zeroStage }),
    ...(size !== null && dp !== null && size < dp && size > 1 ? { group: { size } } : {}),
  };
}

export interface Degrees {
  tp: number;
  pp: number;
  cp: number;
  ep: number;
  etp: number | null;
  vpp: number;
  /** null where it follows from the number of accelerators or is unknown. */
  dp: number | null;
}

const degree = (value: number | null | undefined): number | null => (value != null && value >= 1 ? value : null);

export function degreesOf({ parallel, gpus }: CaseRow): Degrees {
  const [tp, pp, cp] = [degree(parallel.tp) ?? 1, degree(parallel.pp) ?? 1, degree(parallel.cp) ?? 1];
  const shards = typeof parallel.fsdp === 'number' ? degree(parallel.fsdp) : null;
  const rest = gpus == null ? null : gpus / (tp * pp * cp);
  return {
    tp,
    pp,
    cp,
    ep: degree(parallel.ep) ?? 1,
    etp: degree(parallel.etp),
    vpp: degree(parallel.vpp) ?? 1,
    dp: degree(parallel.dp) ?? (rest === null ? shards : null),
  };
}

/** Facts of a plan that the row states itself. */
export function planFacts(row: CaseRow): Fact[] {
  const { parallel, batch } = row;
  const stated: [boolean, Fact][] = [
    [parallel.dp != null, 'plan.dp'],
    [batch.mbs != null, 'plan.microBatchSize'],
    [batch.microbatches != null || batch.grad_accum != null, 'plan.numMicroBatches'],
    [parallel.sp != null, 'plan.sequenceParallel'],
    [zeroStageOf(row) !== null, 'plan.zeroStage'],
    [row.recompute != null, 'plan.recompute'],
    [parallel.schedule != null, 'plan.schedule'],
  ];
  return stated.flatMap(([isStated, fact]) => (isStated ? [fact] : []));
}

/**
 * torchtitan's selective checkpointing keeps every other matmul's output and the attention's; of our modules, recomputing
 * norms and the FFN comes nearest (torchtitan distributed/activation_checkpoint.py).
 */
export function selectiveOf(recompute: Recompute | null, { family }: CaseFramework): Recompute | null {
  const isPlain = recompute?.mode === 'selective' && recompute.modules === undefined;
  return isPlain && family === 'fsdp' ? { mode: 'selective', modules: ['norms', 'mlp'] } : recompute;
}

function runtimeOf(row: CaseRow, { family }: CaseFramework): Pick<PlanInput, 'runtime'> {
  const isExpandable = /expandable/i.test(`${row.note ?? ''} ${row.precision ?? ''}`);
  const isCompiled = family === 'fsdp' && /compile/i.test(row.precision ?? '');
  if (!isExpandable && !isCompiled) return {};
  return {
    runtime: {
      ...(isExpandable ? { expandableSegments: true } : {}),
      ...(isCompiled ? { fusedCrossEntropy: 'compiled' as const } : {}),
    },
  };
}

/** The plan of a row. `microBatchSize` is what the caller has settled on. */
export function planOf(row: CaseRow, framework: CaseFramework, degrees: Degrees, microBatchSize: number): PlanInput {
  const { parallel } = row;
  const { dp, etp, ...split } = degrees;
  const recompute = selectiveOf(recomputeOf(row.recompute), framework);
  const offload = offloadOf(row.offload);
  const schedule = scheduleOf(parallel.schedule);
  const isV = schedule !== null && /^(zb-v|v-|dualpipe-v)/.test(schedule);
  return {
    ...split,
    ...(isV && parallel.vpp == null ? { vpp: 2 } : {}),
    ...(dp === null ? {} : { dp }),
    ...(etp === null ? {} : { etp }),
    microBatchSize,
    ...(parallel.sp == null ? {} : { sequenceParallel: parallel.sp && split.tp > 1 }),
    ...(schedule === null ? {} : { schedule: { name: schedule } }),
    ...(recompute === null ? {} : { recompute }),
    ...(offload === null ? {} : { offload }),
    sharding: shardingOf(row, dp),
    ...runtimeOf(row, framework),
    ...(framework.family === 'fsdp' && /asynctp/i.test(row.precision ?? '') ? { overlap: { tp: true } } : {}),
  };
}
