/** `preset:MODEL@COUNTxACCELERATOR`: a whole scenario from two ids of the catalog and a number (docs/FORMATS.md §3). */
import { AppError } from '../errors.ts';
import {
  findAccelerator,
  normalizeId,
  resolveScenario,
  SCENARIO_FORMAT,
  SCENARIO_VERSION,
  type Accelerator,
  type Catalog,
  type JobInput,
  type ModelPreset,
  type Model,
  type Scenario,
  type ScenarioInput,
} from '../schema/index.ts';
import { formatCount } from '../units.ts';
import { nearWords } from '../closest.ts';

export const PRESET_PREFIX = 'preset:';

/** The two ids and the number of a preset, as they were typed. */
export interface PresetKey {
  model: string;
  numAccelerators: number;
  accelerator: string;
}

export interface PresetScenario {
  scenario: Scenario;
  /** What was taken because the preset does not say it, one sentence each. */
  assumed: string[];
}

/** Whether a text names a preset (and not a file). */
export function isPreset(text: string): boolean {
  return text.toLowerCase().startsWith(PRESET_PREFIX);
}

/** The parts of `MODEL@COUNTxACCELERATOR`, with or without `preset:`; null where the text has another form. */
export function parsePresetKey(text: string): PresetKey | null {
  const key = isPreset(text) ? text.slice(PRESET_PREFIX.length) : text;
  const match = /^([^@]+)@\s*(\d[\d,_]*)\s*[x×*]\s*(.+)$/i.exec(key.trim());
  if (match === null) return null;
  const numAccelerators = Number((match[2] ?? '').replaceAll(/[,_]/g, ''));
  return { model: (match[1] ?? '').trim(), numAccelerators, accelerator: (match[3] ?? '').trim() };
}

function findModel(catalog: Catalog, id: string): ModelPreset {
  const wanted = normalizeId(id);
  const names = (model: ModelPreset) => [model.id, ...model.aliases].map(normalizeId);
  const found = catalog.models.find((model) => names(model).includes(wanted));
  if (found !== undefined) return found;
  throw new AppError('unknown-preset', `the catalog has no model "${id}"`, {
    path: 'model.preset',
    remedy: nearWords(wanted, catalog.models, `all ${catalog.models.length} models`),
  });
}

function malformed(text: string, catalog: Catalog): AppError {
  const examples = catalog.examples.map((example) => `${PRESET_PREFIX}${example.presetKey}`);
  return new AppError('unknown-preset', `"${text}" is not a preset of the form preset:MODEL@COUNTxACCELERATOR`, {
    path: 'preset',
    remedy: `Write for example ${examples.join(' or ')}.`,
  });
}

const TOKENS_PER_STEP = 2 ** 22;
const LONGEST_DEFAULT_SEQUENCE = 4096;
/** Hoffmann et al. 2022 (arXiv 2203.15556), the usual reading of their table 3. */
const TOKENS_PER_PARAMETER = 20;

function oddPart(count: number): number {
  let odd = count;
  while (odd % 2 === 0) odd /= 2;
  return odd;
}

/**
 * Sequences per step of about four million tokens, on a number that the data-parallel ranks can share: the odd part of
 * the accelerator count times a power of two.
 */
function defaultBatch(numAccelerators: number, seqLen: number): number {
  const odd = oddPart(numAccelerators);
  const wanted = Math.max(TOKENS_PER_STEP / seqLen, numAccelerators / 8);
  return odd * 2 ** Math.max(0, Math.round(Math.log2(wanted / odd)));
}

/** A model to plan, by its id in the catalog or by its fields. */
interface PlannedModel {
  fields: ScenarioInput['model'];
  name: string;
  maxPositions: number | null;
  parameters: number | null;
}

function defaultJob(model: PlannedModel, numAccelerators: number): { job: JobInput; assumed: string } {
  const seqLen = Math.min(model.maxPositions ?? LONGEST_DEFAULT_SEQUENCE, LONGEST_DEFAULT_SEQUENCE);
  const globalBatchSize = defaultBatch(numAccelerators, seqLen);
  const tokens = model.parameters === null ? null : TOKENS_PER_PARAMETER * model.parameters;
  const length = tokens === null ? 'no length of run' : `${formatCount(tokens)} tokens (20 per parameter)`;
  return {
    job: { globalBatchSize, seqLen, tokens },
    assumed: `job: ${globalBatchSize} sequences of ${seqLen} tokens per step, ${length}, bf16; the preset names no job`,
  };
}

/** The job of the example of the same model, where its batch is large enough and divides over so many accelerators. */
function jobOf(
  catalog: Catalog,
  model: ModelPreset,
  numAccelerators: number,
): { job: JobInput | Scenario['job']; assumed: string } {
  const example = catalog.examples.find(({ scenario }) => scenario.model.preset === model.id);
  const batch = example?.scenario.job.globalBatchSize ?? 0;
  if (example === undefined || batch * 8 < numAccelerators || batch % oddPart(numAccelerators) !== 0)
    return defaultJob(plannedPreset(model), numAccelerators);
  return {
    job: example.scenario.job,
    assumed: `job: batch, sequence length and tokens of the example "${example.title}"`,
  };
}

/** bf16 and fp16 stand in for each other where a part has units for one alone (V100, TPU v4). */
function computable(named: ReturnType<typeof jobOf>, accelerator: Accelerator): ReturnType<typeof jobOf> {
  const { peakTflops, name } = accelerator;
  const wanted = named.job.precision?.compute ?? 'bf16';
  const compute = wanted === 'fp16' ? 'bf16' : 'fp16';
  if (peakTflops[wanted] !== null || peakTflops[compute] === null) return named;
  const gradients = named.job.precision?.gradients ?? 'fp32';
  const precision = { compute, weights: compute, gradients: gradients === wanted ? compute : gradients } as const;
  const assumed = `${named.assumed}; in ${compute}, because ${name} has no ${wanted} units`;
  return { job: { ...named.job, precision: { ...named.job.precision, ...precision } }, assumed };
}

function plannedPreset({ id, model, publishedParameters }: ModelPreset): PlannedModel {
  return {
    fields: { preset: id },
    name: model.name,
    maxPositions: model.maxPositions ?? null,
    parameters: publishedParameters,
  };
}

function composed(
  catalog: Catalog,
  model: PlannedModel,
  { accelerator, count }: { accelerator: Accelerator; count: number },
  named: { job: JobInput | Scenario['job']; assumed: string },
): PresetScenario {
  const { job, assumed } = computable(named, accelerator);
  const scenario = resolveScenario(
    {
      format: SCENARIO_FORMAT,
      version: SCENARIO_VERSION,
      name: `${model.name} on ${count.toLocaleString('en-US')} ${accelerator.name}`,
      notes: '',
      model: model.fields,
      cluster: { accelerator: accelerator.id, numAccelerators: count },
      job,
      constraints: { headroomFraction: 0.08, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
      objective: 'throughput',
      plan: null,
      results: null,
    },
    catalog,
  );
  const { bandwidthGbps, nicsPerAccelerator } = scenario.cluster.scaleOut;
  const network = `cluster: nodes of ${scenario.cluster.acceleratorsPerNode} with ${bandwidthGbps * nicsPerAccelerator} Gb/s per accelerator, not oversubscribed`;
  return { scenario, assumed: [assumed, network] };
}

/**
 * The scenario of a preset: one of the examples with its published job and split where model, accelerator and count are
 * those of an example, else any model on any number of any accelerator with a job that is stated in `assumed`.
 * Throws AppError unknown-preset or invalid-field.
 */
export function presetScenario(text: string, catalog: Catalog): PresetScenario {
  const id = normalizeId(isPreset(text) ? text.slice(PRESET_PREFIX.length).trim() : text);
  const byId = catalog.examples.find((example) => example.id === id);
  if (byId !== undefined) return { scenario: byId.scenario, assumed: [] };
  const key = parsePresetKey(text);
  if (key === null || key.numAccelerators < 1) throw malformed(text, catalog);
  const model = findModel(catalog, key.model);
  const accelerator = findAccelerator(catalog, key.accelerator);
  const example = catalog.examples.find(
    ({ scenario }) =>
      scenario.model.preset === model.id &&
      scenario.cluster.accelerator === accelerator.id &&
      scenario.cluster.numAccelerators === key.numAccelerators,
  );
  if (example !== undefined) return { scenario: example.scenario, assumed: [] };
  const size = { accelerator, count: key.numAccelerators };
  return composed(catalog, plannedPreset(model), size, jobOf(catalog, model, key.numAccelerators));
}

/** Accelerators that a model is first planned on, and the share of their memory that its states may take. */
const FIRST_ACCELERATOR = 'h100-80gb-sxm';
const STATE_BYTES_PER_PARAMETER = 18;
const SHARE_FOR_STATES = 0.5;

/**
 * A scenario round a model that came alone: on as many H100 nodes as hold its training states in half of their memory
 * (a power of two), with a job that is stated in `assumed`. Throws AppError invalid-field.
 */
export function modelScenario(model: Model, parameters: number, catalog: Catalog): PresetScenario {
  const accelerator = findAccelerator(catalog, FIRST_ACCELERATOR);
  const perAccelerator = accelerator.usableMemoryGiB * 2 ** 30 * SHARE_FOR_STATES;
  const least = (STATE_BYTES_PER_PARAMETER * parameters) / perAccelerator;
  const count = Math.max(accelerator.acceleratorsPerNode, 2 ** Math.ceil(Math.log2(least)));
  const planned = { fields: model, name: model.name, maxPositions: model.maxPositions, parameters };
  const { scenario, assumed } = composed(catalog, planned, { accelerator, count }, defaultJob(planned, count));
  const size = `cluster: ${count} × ${accelerator.name}, the file names none; they hold the training states in half of their memory`;
  return { scenario, assumed: [size, ...assumed] };
}
