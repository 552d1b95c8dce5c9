/**
 * Rows of measured runs → the scenario and plan that they were, or the reason why a row cannot be predicted.
 *
 * Nothing is filled in silently: what a row does not state and this reader assumes is listed in `assumed`; what it does
 * not state and nobody may guess makes the row skipped.
 */
import { z } from 'zod';
import { AppError, inputError } from '../errors.ts';
import {
  issuesOf,
  normalizeId,
  runSchema,
  SCENARIO_FORMAT,
  type PlanInput,
  type Presets,
  type Run,
  type ScenarioInput,
} from '../schema/index.ts';

/** What a row was: ready to be predicted. */
export interface RunCase {
  scenario: ScenarioInput;
  plan: PlanInput;
  assumed: string[];
}

export type RunReading = { case: RunCase } | { skipped: string };

/** Frameworks whose behaviour the planner models, as the record spells them. */
const MEGATRON = /megatron-lm|megatron-core|megatron-bridge|megatron core/i;
/** A fork may run schedules or layouts of its own that a row states in words only. */
const FORK = /\bfork\b/i;

/** The rows of a runs file: a list, or an object with `rows`. Throws AppError invalid-json / invalid-field / wrong-format. */
export function parseRunsText(text: string, what = 'runs file'): Run[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError('invalid-json', `${what} is not valid JSON: ${(cause as Error).message}`, {
      remedy: 'The file may be half-written or damaged.',
      cause,
    });
  }
  const rows = Array.isArray(value) ? value : z.looseObject({ rows: z.array(z.unknown()) }).safeParse(value).data?.rows;
  if (rows === undefined)
    throw new AppError('wrong-format', `${what} is neither a list of measured runs nor an object with "rows"`, {
      remedy: 'Give a JSON list of runs (id, model, cluster, parallel, measured).',
    });
  const issues = rows.flatMap((row, index) => {
    const parsed = runSchema.safeParse(row);
    return parsed.success ? [] : issuesOf(parsed.error, row, `[${index}]`);
  });
  if (issues.length > 0) throw inputError('invalid-field', what, issues.slice(0, 20));
  return rows.map((row) => runSchema.parse(row));
}

/** Fields that decide time or memory and that this version does not plan; the first that a row uses is why it is skipped. */
function notPlanned(run: Run): string | null {
  const { model, parallel, task } = run;
  if (model.moe != null) return 'mixture of experts is not planned by this version';
  if (model.mla != null) return 'multi-head latent attention is not planned by this version';
  if (task != null && /lora/i.test(task)) return 'LoRA is not planned by this version';
  if (!MEGATRON.test(run.framework ?? '') || FORK.test(run.framework ?? ''))
    return `framework ${run.framework ?? 'unknown'} is not planned by this version`;
  if ((parallel.cp ?? 1) > 1) return 'context parallelism is not planned by this version';
  if ((parallel.ep ?? 1) > 1) return 'expert parallelism is not planned by this version';
  if (parallel.precision != null && /fp8|fp4/i.test(parallel.precision))
    return `precision ${parallel.precision} is not planned by this version`;
  if (parallel.precision != null && !/bf16|bfloat16|fp16|float16|\bhalf\b/i.test(parallel.precision))
    return `precision ${parallel.precision} is not planned by this version`;
  const zero = parallel.zero == null ? '' : String(parallel.zero);
  if (zero !== '' && !/^(zero|stage)?[-_ ]?[01]$/i.test(zero.trim()))
    return `sharding ${zero} is not planned by this version`;
  return null;
}

function missingFields(run: Run): string[] {
  const { model, cluster, parallel } = run;
  const needed: Record<string, unknown> = {
    'model.layers': model.layers,
    'model.hidden': model.hidden,
    'model.heads': model.heads,
    'model.vocab': model.vocab,
    'model.seq': model.seq,
    'cluster.gpu': cluster.gpu,
    'cluster.total_gpus': cluster.total_gpus,
    'parallel.tp': parallel.tp,
    'parallel.pp': parallel.pp,
    'parallel.mbs': parallel.mbs,
    'parallel.gbs': parallel.gbs,
  };
  return Object.entries(needed).flatMap(([path, value]) => (value == null ? [path] : []));
}

/** full | selective | none from the record's words; null where they say nothing. */
function recomputeMode(text: string | null | undefined): 'none' | 'selective' | 'full' | null {
  if (text == null) return null;
  if (/^\s*(none|no|off)\b/i.test(text)) return 'none';
  if (/selective/i.test(text)) return 'selective';
  if (/full|block|uniform/i.test(text)) return 'full';
  return null;
}

function isOldStack(version: string | null | undefined): boolean {
  const year = /\b(20[12]\d)\b/.exec(version ?? '');
  return year !== null && Number(year[1]) <= 2022;
}

function readModel(run: Run, assumed: string[]): ScenarioInput['model'] {
  const { model } = run;
  const [layers, hidden, heads] = [model.layers ?? 0, model.hidden ?? 0, model.heads ?? 0];
  const gated = model.gated ?? false;
  if (model.gated == null) assumed.push('model.gated: no');
  const isGpt = !gated;
  if (model.ffn == null) assumed.push('model.ffn: 4 × hidden');
  if (model.kv_heads == null) assumed.push('model.kv_heads: as many as heads');
  if (model.head_dim == null) assumed.push('model.head_dim: hidden ÷ heads');
  if (model.tied_embeddings == null) assumed.push(`model.tied_embeddings: ${isGpt ? 'yes' : 'no'}`);
  if (isGpt) assumed.push('GPT style: LayerNorm, biases, learned positions, dropout 0.1');
  return {
    preset: null,
    name: model.name ?? run.id,
    family: isGpt ? 'gpt' : 'llama',
    numLayers: layers,
    hiddenSize: hidden,
    ffnHiddenSize: model.ffn ?? 4 * hidden,
    gatedFfn: gated,
    numHeads: heads,
    numKvHeads: model.kv_heads ?? heads,
    headDim: model.head_dim ?? hidden / heads,
    vocabSize: model.vocab ?? 0,
    tiedEmbeddings: model.tied_embeddings ?? isGpt,
    positions: isGpt ? 'learned' : 'rotary',
    maxPositions: isGpt ? (model.seq ?? null) : null,
    normalization: isGpt ? 'layernorm' : 'rmsnorm',
    qkvBias: isGpt,
    ffnBias: isGpt,
    dropout: isGpt,
  };
}

function readPlan(run: Run, assumed: string[]): PlanInput | { skipped: string } {
  const { parallel, cluster } = run;
  const [tp, pp] = [parallel.tp ?? 1, parallel.pp ?? 1];
  const old = isOldStack(run.framework_version);
  const mode = recomputeMode(parallel.recompute);
  if (mode === null && old) return { skipped: 'parallel.recompute is unknown and the stack has no usual setting' };
  if (mode === null) assumed.push('parallel.recompute: none (the default of the framework)');
  if (parallel.vp == null && pp > 1) assumed.push('parallel.vp: 1 (not interleaved)');
  const sp = parallel.sp ?? (tp > 1 && !old);
  if (parallel.sp == null && tp > 1) assumed.push(`parallel.sp: ${sp ? 'on' : 'off'} (usual for the stack’s year)`);
  const dp = parallel.dp ?? (cluster.total_gpus ?? 1) / (tp * pp);
  const zeroText = parallel.zero == null ? '' : String(parallel.zero);
  const distributed = parallel.dist_opt ?? (zeroText === '' ? !old : /1/.test(zeroText));
  if (parallel.dist_opt == null && zeroText === '' && dp > 1)
    assumed.push(`parallel.dist_opt: ${distributed ? 'on' : 'off'} (usual for the stack’s year)`);
  return {
    tp,
    pp,
    dp,
    vpp: parallel.vp ?? 1,
    microBatchSize: parallel.mbs ?? 1,
    sequenceParallel: sp && tp > 1,
    recompute: mode === 'selective' ? { mode, modules: ['core-attention'] } : { mode: mode ?? 'none' },
    sharding: { zeroStage: distributed ? 1 : 0 },
  };
}

function readPrecision(run: Run, assumed: string[]): 'bf16' | 'fp16' {
  const { precision } = run.parallel;
  if (precision != null && /fp16/i.test(precision)) return 'fp16';
  if (precision == null) assumed.push('parallel.precision: bf16');
  return 'bf16';
}

/** Reads one row. `presets` gives the accelerators that are known. */
export function readRun(run: Run, presets: Pick<Presets, 'accelerators'>): RunReading {
  const reason = notPlanned(run);
  if (reason !== null) return { skipped: reason };
  const missing = missingFields(run);
  if (missing.length > 0) return { skipped: `unknown: ${missing.join(', ')}` };
  const gpu = normalizeId(run.cluster.gpu ?? '');
  const accelerator = presets.accelerators.find((a) => [a.id, ...a.aliases].some((name) => normalizeId(name) === gpu));
  if (accelerator === undefined) return { skipped: `accelerator ${run.cluster.gpu} is not in the catalog` };
  const assumed: string[] = [];
  const plan = readPlan(run, assumed);
  if ('skipped' in plan) return plan;
  return { case: { plan, assumed, scenario: readScenario(run, accelerator, assumed) } };
}

function readScenario(run: Run, accelerator: Presets['accelerators'][number], assumed: string[]): ScenarioInput {
  const compute = readPrecision(run, assumed);
  const isHalfGradient = compute === 'fp16' && isOldStack(run.framework_version);
  if (isHalfGradient) assumed.push('gradients accumulated and reduced in fp16, as the stack of the time did');
  if (run.cluster.gpus_per_node == null)
    assumed.push(`cluster.gpus_per_node: ${accelerator.acceleratorsPerNode} (usual for the accelerator)`);
  const nic = run.cluster.inter_node_gbps_per_gpu;
  if (nic == null)
    assumed.push(`cluster.inter_node_gbps_per_gpu: ${accelerator.scaleOut.bandwidthGbps} (usual for the accelerator)`);
  return {
    format: SCENARIO_FORMAT,
    version: 1,
    name: run.id.slice(0, 200),
    notes: '',
    constraints: { headroomFraction: 0, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
    objective: 'throughput',
    plan: null,
    results: null,
    model: readModel(run, assumed),
    cluster: {
      accelerator: accelerator.id,
      numAccelerators: run.cluster.total_gpus ?? 1,
      ...(run.cluster.gpus_per_node == null ? {} : { acceleratorsPerNode: run.cluster.gpus_per_node }),
      ...(nic == null ? {} : { scaleOut: { nicsPerAccelerator: 1, bandwidthGbps: nic } }),
      price: null,
    },
    job: {
      kind: 'training',
      task: 'pretrain',
      globalBatchSize: run.parallel.gbs ?? 1,
      seqLen: run.model.seq ?? 1,
      precision: { compute, weights: compute, gradients: isHalfGradient ? 'fp16' : 'fp32' },
      framework: { family: 'megatron-lm', version: run.framework_version ?? null },
    },
  };
}
