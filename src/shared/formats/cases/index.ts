/**
 * Configurations with a known outcome → a scenario and a plan, and what of them is known.
 *
 * A report seldom states everything. What it leaves out is filled with values that divide by everything, so that no rule
 * can break on them, and is not among `known`; `missing` names what a prediction of memory would need. Nothing is guessed
 * in silence: what is taken for the prediction is listed in `assumed`.
 */
import type { Fact } from '../../schema/facts.ts';
import { SCENARIO_FORMAT, type Accelerator, type PlanInput, type ScenarioInput } from '../../schema/index.ts';
import { acceleratorNamed } from './accelerators.ts';
import { frameworkOf, type CaseFramework } from './frameworks.ts';
import { readCaseModel, type CaseModelReading, type ModelSources, type StatedSizes } from './models.ts';
import { degreesOf, planFacts, planOf, precisionOf, type Degrees } from './plan.ts';
import type { CaseHardware, CaseRow, CasesFile } from './schema.ts';

export { parseCasesText, type CaseKind, type CaseRow, type CasesFile, type GoldenRow } from './schema.ts';
export { readGolden, type GoldenReading } from './golden.ts';
export { frameworkOf, type CaseFamily, type CaseFramework } from './frameworks.ts';
export { precisionOf, recomputeOf, scheduleOf, selectiveOf } from './plan.ts';
export type { CaseModelReading, ModelSources } from './models.ts';

/** Sources of names: the catalog's accelerators, and where models are looked up. */
export interface CaseSources extends ModelSources {
  accelerators: readonly Accelerator[];
}

export interface CaseReading {
  row: CaseRow;
  framework: CaseFramework;
  degrees: Degrees;
  model: CaseModelReading;
  hardware: CaseHardware | null;
  /** null where the record names no accelerator that is known. */
  accelerator: Accelerator | null;
  numAccelerators: number | null;
  scenario: ScenarioInput;
  plan: PlanInput;
  known: ReadonlySet<Fact>;
  /** What a prediction of memory needs and the row does not state. */
  missing: string[];
  assumed: string[];
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
export const lcm = (...values: readonly number[]): number => values.reduce((a, b) => (a * b) / gcd(a, b), 1);

function acceleratorOf(row: CaseRow, hardware: CaseHardware | null, { accelerators }: CaseSources): Accelerator | null {
  const names = [row.hardware, hardware?.gpu].filter((name) => name != null);
  return names.map((name) => acceleratorNamed(name, accelerators)).find((found) => found !== null) ?? null;
}

/** A model for rules alone: the stated sizes, and beside them sizes that divide by every degree. */
function placeholderModel(stated: StatedSizes, { tp, pp, cp, ep, etp, vpp }: Degrees): ScenarioInput['model'] {
  const kvHeads = stated.numKvHeads ?? stated.numHeads ?? tp * cp;
  const numHeads = stated.numHeads ?? lcm(kvHeads, tp * cp);
  const unit = 64 * lcm(tp, etp ?? 1);
  const hasExperts = stated.numExperts !== null || ep > 1 || etp !== null;
  return {
    preset: null,
    name: 'sizes as stated',
    family: 'llama',
    numLayers: stated.numLayers ?? pp * vpp,
    hiddenSize: stated.hiddenSize ?? numHeads * 64,
    ffnHiddenSize: stated.ffnHiddenSize ?? 4 * unit,
    gatedFfn: true,
    numHeads,
    numKvHeads: numHeads % kvHeads === 0 ? kvHeads : numHeads,
    headDim: 64,
    vocabSize: stated.vocabSize ?? 32_000,
    tiedEmbeddings: false,
    positions: 'rotary',
    normalization: 'rmsnorm',
    moe: hasExperts
      ? {
          numExperts: stated.numExperts ?? Math.max(2, ep),
          expertsPerToken: 1,
          expertFfnHiddenSize: 4 * unit,
          sharedExpertFfnHiddenSize: 0,
          sharedExpertGate: false,
          denseFirst: 0,
          everyN: 1,
          router: null,
        }
      : null,
  };
}

/** Width per layer of decoders of all sizes, about (GPT-3, arXiv 2005.14165 table 2.1: 96 to 128 from 6.7 B on). */
const WIDTH_PER_LAYER = 128;

/** A decoder of about so many parameters, 12·L·h² with h = 128·L, for bounds where only their number is known. */
function nominalModel(
  { parameters, stated }: CaseModelReading,
  { tp, pp, vpp }: Degrees,
  assumed: string[],
): ScenarioInput['model'] | null {
  const isSized = Object.values(stated).some((value) => value !== null);
  if (parameters === null || isSized) return null;
  const upTo = (value: number, unit: number) => Math.max(unit, Math.round(value / unit) * unit);
  const numLayers = upTo(Math.cbrt(parameters / (12 * WIDTH_PER_LAYER ** 2)), pp * vpp);
  const numHeads = upTo(Math.sqrt(parameters / (12 * numLayers)) / 128, tp);
  assumed.push(
    `layers: ${numLayers} of width ${numHeads * 128}, about what ${(parameters / 1e9).toFixed(1)} B parameters have`,
  );
  return {
    preset: null,
    name: 'of the stated size',
    family: 'gpt',
    numLayers,
    hiddenSize: numHeads * 128,
    ffnHiddenSize: 4 * numHeads * 128,
    gatedFfn: false,
    numHeads,
    numKvHeads: numHeads,
    headDim: 128,
    vocabSize: 51_200,
    tiedEmbeddings: true,
    positions: 'rotary',
    normalization: 'layernorm',
  };
}

/** Expert tensor parallelism where a row leaves it out: Megatron-LM takes tp, ms-swift and the others 1. */
export function defaultEtp({ family, etpFollowsTp }: CaseFramework, { tp }: Degrees): number {
  return family === 'megatron-lm' && etpFollowsTp ? tp : 1;
}

/** Fewest ranks that hold the dense and the expert mesh: a multiple of tp·pp·cp·dp and of pp·ep·etp. */
export function leastWorld({ tp, pp, cp, ep, etp, dp }: Degrees, etpDefault: number): number {
  return lcm(tp * pp * cp * (dp ?? 1), pp * ep * (ep > 1 ? (etp ?? etpDefault) : 1));
}

function factsOf(row: CaseRow, model: CaseModelReading): Set<Fact> {
  const { stated } = model;
  const pairs: [boolean, Fact][] = [
    [row.gpus != null, 'cluster.numAccelerators'],
    [stated.numLayers !== null, 'model.numLayers'],
    [stated.hiddenSize !== null, 'model.hiddenSize'],
    [stated.ffnHiddenSize !== null, 'model.ffnHiddenSize'],
    [stated.numHeads !== null, 'model.numHeads'],
    [stated.numKvHeads !== null, 'model.numKvHeads'],
    [model.model !== null, 'model.headDim'],
    [stated.vocabSize !== null, 'model.vocabSize'],
    [model.model !== null || stated.numExperts !== null, 'model.moe'],
    [row.batch.gbs != null, 'job.globalBatchSize'],
    [row.batch.seq != null, 'job.seqLen'],
  ];
  const known = new Set([...pairs.flatMap(([isKnown, fact]) => (isKnown ? [fact] : [])), ...planFacts(row)]);
  addDerived(row, known);
  return known;
}

/** dp follows from the number of accelerators once a split is stated; micro-batches follow from batch, dp and their size. */
function addDerived(row: CaseRow, known: Set<Fact>): void {
  const { tp, pp, cp, fsdp } = row.parallel;
  if (row.gpus != null && [tp, pp, cp, fsdp].some((value) => value != null)) known.add('plan.dp');
  if (known.has('plan.dp') && known.has('job.globalBatchSize') && known.has('plan.microBatchSize'))
    known.add('plan.numMicroBatches');
}

function missingOf(reading: Pick<CaseReading, 'row' | 'model' | 'accelerator' | 'framework'>): string[] {
  const { row, model, accelerator, framework } = reading;
  const needs: [string, boolean][] = [
    ['the layers of the model', model.model !== null],
    ['the accelerator', accelerator !== null],
    ['the number of accelerators', row.gpus != null],
    ['the split', row.gpus === 1 || Object.values(row.parallel).some((value) => value != null)],
    ['the micro-batch', row.batch.mbs != null],
    ['the sequence length', row.batch.seq != null],
    // a recipe recomputes as it needs to, which tables of results leave out; other launches do as their framework does
    ['the recomputation', row.recompute != null || row.purpose === 'validity' || framework.family !== 'megatron-lm'],
  ];
  return needs.flatMap(([what, isKnown]) => (isKnown ? [] : [what]));
}

/** A sequence for rows that state none: what the model was made for, at most 4,096 tokens, a usual pre-training length. */
const USUAL_SEQUENCE = 4096;

/** torchtitan states a rank's whole batch, which its pipeline cuts into micro-batches of one sequence. */
const splitsLocalBatch = (row: CaseRow, { family }: CaseFramework): boolean =>
  family === 'fsdp' && row.batch.mbs != null && row.batch.microbatches == null;

function batchOf(row: CaseRow, framework: CaseFramework, degrees: Degrees, numAccelerators: number) {
  const { mbs, gbs, seq, microbatches, grad_accum: accumulation } = row.batch;
  const { tp, pp, cp, vpp } = degrees;
  const dp = degrees.dp ?? Math.max(1, Math.floor(numAccelerators / (tp * pp * cp)));
  const numMicroBatches = microbatches ?? accumulation ?? 2 * pp * (vpp > 1 ? 2 : 1);
  const pipelined = splitsLocalBatch(row, framework) && pp > 1;
  const stated = pipelined ? 1 : mbs;
  const microBatchSize = stated ?? (gbs != null && microbatches != null ? Math.max(1, gbs / (dp * microbatches)) : 1);
  const local = pipelined ? (mbs ?? 1) : microBatchSize * numMicroBatches;
  return {
    microBatchSize,
    globalBatchSize: gbs ?? dp * local,
    seqLen: seq ?? lcm(USUAL_SEQUENCE, 2 * cp * tp),
  };
}

/** Gradients where a row or its time tells: "fp32 accumulation", and fp16 throughout in stacks before 2023. */
function gradientsOf(row: CaseRow, { version }: CaseFramework, compute: string): { gradients?: 'fp32' | 'fp16' } {
  if (/fp32 (gradient )?accumul/i.test(row.precision ?? '')) return { gradients: 'fp32' };
  const isOld = /^20(1\d|2[0-2])$/.test(version ?? '');
  return isOld && compute === 'fp16' ? { gradients: 'fp16' } : {};
}

/**
 * torchtune's full recipes train in bf16 throughout, without fp32 master weights (recipes/configs, dtype: bf16).
 * Megatron-Bridge's recipes keep gradients and Adam's moments in bf16 (precision-aware optimizer), and weights in fp8 where
 * they compute in it. Source: Megatron-Bridge src/megatron/bridge/recipes; its own measurements (skills/) agree with 12
 * bytes per parameter and not with 18.
 */
export function recipePrecision(
  row: Pick<CaseRow, 'framework' | 'offload'>,
  compute: string,
  assumed: string[],
): ScenarioInput['job']['precision'] {
  if (/torchtune/i.test(row.framework ?? '')) {
    const optimizer = /8-?bit/i.test(row.offload ?? '') ? ('adam-8bit' as const) : ('adam-bf16-pure' as const);
    assumed.push('weights, gradients and states: bf16 or less (dtype: bf16 of torchtune’s recipes)');
    return { weights: 'bf16', gradients: 'bf16', optimizer };
  }
  if (!/bridge|nemo/i.test(row.framework ?? '')) return {};
  assumed.push('gradients and moments: bf16, weights as computed with (Megatron-Bridge’s recipes)');
  return {
    gradients: 'bf16',
    optimizer: 'adam-bf16',
    ...(compute === 'fp8' ? { weights: 'fp8' as const } : {}),
  };
}

function jobOf(row: CaseRow, framework: CaseFramework, batch: ReturnType<typeof batchOf>, assumed: string[]) {
  const stated = precisionOf(row.precision);
  if (stated === null) assumed.push('precision: bf16');
  const compute = stated ?? ('bf16' as const);
  if (/unspecified/i.test(row.precision ?? '')) assumed.push(`precision: ${compute} (${row.precision})`);
  const task =
    row.mode === 'lora' ? ('lora' as const) : row.mode === 'pretrain' ? ('pretrain' as const) : ('sft' as const);
  const family = framework.family === 'serving' || framework.family === 'other' ? 'megatron-lm' : framework.family;
  return {
    kind: 'training' as const,
    task,
    globalBatchSize: batch.globalBatchSize,
    seqLen: batch.seqLen,
    precision: { compute, ...gradientsOf(row, framework, compute), ...recipePrecision(row, compute, assumed) },
    framework: { family, version: framework.version, stack: framework.stack },
  };
}

/** Reads one row; `file` gives its models and hardware. Never throws for a bad row. */
export function readCase(row: CaseRow, file: CasesFile, sources: CaseSources): CaseReading {
  const framework = frameworkOf(row.framework, row.source);
  const degrees = degreesOf(row);
  const model = readCaseModel(row, file.models, sources);
  const hardware = (row.hardware == null ? undefined : file.hardware[row.hardware]) ?? null;
  const accelerator = acceleratorOf(row, hardware, sources);
  const assumed = [...model.assumed];
  const etpDefault = defaultEtp(framework, degrees);
  const { numHeads, numKvHeads } = model.stated;
  // an unknown cluster is large enough to try every number of ranks that divides the heads
  const numAccelerators = row.gpus ?? lcm(leastWorld(degrees, etpDefault), numHeads ?? 1, numKvHeads ?? 1);
  const batch = batchOf(row, framework, degrees, numAccelerators);
  const perNode = hardware?.gpus_per_node ?? accelerator?.acceleratorsPerNode ?? 8;
  const plan = planOf(
    row,
    framework,
    { ...degrees, etp: degrees.etp ?? (degrees.ep > 1 ? etpDefault : null) },
    batch.microBatchSize,
  );
  const scenario: ScenarioInput = {
    format: SCENARIO_FORMAT,
    version: 1,
    name: row.id.slice(0, 200),
    notes: '',
    constraints: { headroomFraction: 0, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
    objective: 'throughput',
    plan: null,
    results: null,
    model: model.model ?? nominalModel(model, degrees, assumed) ?? placeholderModel(model.stated, degrees),
    cluster: {
      accelerator: accelerator?.id ?? 'h100-80gb-sxm',
      numAccelerators,
      // a count that fills no whole nodes is planned as smaller nodes
      acceleratorsPerNode: numAccelerators <= perNode ? perNode : gcd(numAccelerators, perNode),
      price: null,
      ...(row.gpus == null ? { scaleUp: { domainSize: numAccelerators } } : {}),
    },
    job: jobOf(row, framework, batch, assumed),
  };
  const known = factsOf(row, model);
  const reading = { row, framework, degrees, model, hardware, accelerator, scenario, plan, known, assumed };
  return { ...reading, numAccelerators: row.gpus ?? null, missing: missingOf(reading) };
}
