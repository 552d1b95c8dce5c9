/**
 * Rows of measured runs → the scenario and plan that they were, or the reason why a row cannot be predicted.
 *
 * Nothing is filled in silently: what a row does not state and this reader assumes is listed in `assumed`; what it does
 * not state and nobody may guess makes the row skipped.
 */
import { z } from 'zod';
import { AppError, inputError } from '../../errors.ts';
import {
  issuesOf,
  normalizeId,
  runSchema,
  SCENARIO_FORMAT,
  type PlanInput,
  type Presets,
  type Run,
  type ScenarioInput,
} from '../../schema/index.ts';
import { missingModelFields, readModel } from './model.ts';
import { readPlan } from './plan.ts';
import { withInheritedRecipes } from './recipes.ts';
import { readPrecision } from './precision.ts';
import { stackOfRun, type Stack } from './stack.ts';

/** What a row was: ready to be predicted. */
export interface RunCase {
  scenario: ScenarioInput;
  plan: PlanInput;
  assumed: string[];
}

/** `missing` are the fields that a prediction needs and the row does not have. */
export type RunReading = { case: RunCase } | { skipped: string; missing?: string[] };

type Accelerator = Presets['accelerators'][number];

const runGroups = ['model', 'cluster', 'parallel', 'measured'] as const;

/** Whether a row has any group of a run, right or wrong: then its faults are told one by one. */
function isLikeRun(row: unknown): boolean {
  if (typeof row !== 'object' || row === null) return true;
  return runGroups.filter((group) => group in row).length > 1;
}

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
      remedy: `Give a JSON list of runs, one object each with id, ${runGroups.join(', ')}.`,
    });
  if (rows.length > 0 && !rows.some(isLikeRun))
    throw new AppError('wrong-format', `${what} has ${rows.length} rows, and none states ${runGroups.join(', ')}`, {
      remedy: `Give one object per run with id, ${runGroups.join(', ')}. Summaries of whole trainings and tables of schedules have other keys and are not read.`,
    });
  const issues = rows.flatMap((row, index) => {
    const parsed = runSchema.safeParse(row);
    return parsed.success ? [] : issuesOf(parsed.error, row, `[${index}]`);
  });
  if (issues.length > 0) throw inputError('invalid-field', what, issues.slice(0, 20));
  return withInheritedRecipes(rows.map((row) => runSchema.parse(row)));
}

function missingFields(run: Run): string[] {
  const { model, cluster, parallel } = run;
  const needed: Record<string, unknown> = {
    'model.layers': model.layers,
    'model.hidden': model.hidden,
    'model.vocab': model.vocab,
    'model.seq': model.seq,
    'cluster.gpu': cluster.gpu,
    'cluster.total_gpus': cluster.total_gpus,
    'parallel.mbs': parallel.mbs,
    'parallel.gbs': parallel.gbs,
  };
  const missing = Object.entries(needed).flatMap(([path, value]) => (value == null ? [path] : []));
  return [...missing, ...missingModelFields(run)];
}

/** Where tp and pp are unknown: a framework that shards weights needs neither; elsewhere nobody may guess. */
function missingSplit(run: Run, stack: Stack): string[] {
  if (stack.shardsAll) return [];
  const { tp, pp } = run.parallel;
  return [...(tp == null ? ['parallel.tp'] : []), ...(pp == null ? ['parallel.pp'] : [])];
}

/** Parts that a row names more closely in its notes than in `cluster.gpu`. */
const closerNames: readonly { notes: RegExp; gpu: RegExp; id: string }[] = [
  { notes: /96\s?GB HBM2e/i, gpu: /^h100/i, id: 'h100-96gb-hbm2e' },
];

function acceleratorOf(run: Run, accelerators: readonly Accelerator[]): Accelerator | undefined {
  const gpu = run.cluster.gpu ?? '';
  const closer = closerNames.find((part) => part.gpu.test(gpu) && part.notes.test(run.notes ?? ''));
  const wanted = normalizeId(closer?.id ?? gpu);
  return accelerators.find((part) => [part.id, ...part.aliases].some((name) => normalizeId(name) === wanted));
}

/** Reads one row. `presets` gives the accelerators that are known. */
export function readRun(run: Run, presets: Pick<Presets, 'accelerators'>): RunReading {
  const stack = stackOfRun(run);
  if (stack === null) return { skipped: `framework ${run.framework ?? 'unknown'} is not planned by this version` };
  const missing = [...missingFields(run), ...missingSplit(run, stack)];
  if (missing.length > 0) return { skipped: `unknown: ${missing.join(', ')}`, missing };
  const accelerator = acceleratorOf(run, presets.accelerators);
  if (accelerator === undefined) return { skipped: `accelerator ${run.cluster.gpu} is not in the catalog` };
  const assumed: string[] = [];
  if (run.recipe?.inherited === true) assumed.push(`recipe: that of ${run.recipe.from ?? 'another release'}`);
  const plan = readPlan(run, stack, assumed);
  if ('skipped' in plan) return plan;
  const precision = readPrecision(run, stack, assumed);
  if ('skipped' in precision) return precision;
  return { case: { plan, assumed, scenario: readScenario(run, { stack, precision, accelerator }, assumed) } };
}

function readCluster(run: Run, accelerator: Accelerator, assumed: string[]): ScenarioInput['cluster'] {
  if (run.cluster.gpus_per_node == null)
    assumed.push(`cluster.gpus_per_node: ${accelerator.acceleratorsPerNode} (usual for the accelerator)`);
  const nic = run.cluster.inter_node_gbps_per_gpu;
  if (nic == null)
    assumed.push(`cluster.inter_node_gbps_per_gpu: ${accelerator.scaleOut.bandwidthGbps} (usual for the accelerator)`);
  return {
    accelerator: accelerator.id,
    numAccelerators: run.cluster.total_gpus ?? 1,
    ...(run.cluster.gpus_per_node == null ? {} : { acceleratorsPerNode: run.cluster.gpus_per_node }),
    ...(nic == null ? {} : { scaleOut: { nicsPerAccelerator: 1, bandwidthGbps: nic } }),
    price: null,
  };
}

/**
 * What a row trains. NVIDIA's measured LoRA recipes adapt what makes queries, keys and values, and nothing else; elsewhere
 * every linear map is taken. Source: Megatron-Bridge scripts/performance/configs/llama/llama3_llm_finetune.py.
 */
function readTask({ task }: Run, stack: Stack, assumed: string[]): Pick<ScenarioInput['job'], 'task' | 'lora'> {
  if (task == null || !/lora/i.test(task)) return { task: 'pretrain', lora: null };
  const targets = stack.overlapsTensorParallel ? (['qkv'] as const) : (['attention', 'ffn'] as const);
  assumed.push(`adapters: rank 16 on ${targets.join(' and ')}`);
  return { task: 'lora', lora: { rank: 16, targets: [...targets] } };
}

interface Read {
  stack: Stack;
  precision: ScenarioInput['job']['precision'];
  accelerator: Accelerator;
}

function readScenario(run: Run, { stack, precision, accelerator }: Read, assumed: string[]): ScenarioInput {
  return {
    format: SCENARIO_FORMAT,
    version: 1,
    name: run.id.slice(0, 200),
    notes: '',
    constraints: { headroomFraction: 0, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
    objective: 'throughput',
    plan: null,
    results: null,
    model: readModel(run, stack, assumed),
    cluster: readCluster(run, accelerator, assumed),
    job: {
      kind: 'training',
      ...readTask(run, stack, assumed),
      globalBatchSize: run.parallel.gbs ?? 1,
      seqLen: run.model.seq ?? 1,
      ...(precision === undefined ? {} : { precision }),
      framework: { family: stack.family, version: stack.version, stack: stack.name },
    },
  };
}
