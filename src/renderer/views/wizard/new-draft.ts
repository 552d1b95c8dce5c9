/** What choosing a preset puts into a draft. The result is always complete: every field can be edited after. */
import { clusterDefaults } from '#shared/schema/resolve.ts';
import {
  SCENARIO_FORMAT,
  SCENARIO_VERSION,
  type Accelerator,
  type Catalog,
  type ClusterPreset,
  type ModelPreset,
  type Scenario,
} from '#shared/schema/index.ts';
import { draftOf, valueAt, type Draft } from '../../stores/draft.ts';
import { showNumber } from './numbers.ts';

type Values = Readonly<Record<string, unknown>>;

/** The whole cluster that a number of these accelerators makes with their vendor's usual links. */
export function clusterOf(accelerator: Accelerator, numAccelerators: unknown): Values {
  return { ...clusterDefaults(accelerator), numAccelerators };
}

function present(value: object): Values {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));
}

/** A named cluster of the catalog; `numAccelerators` stays where the preset gives none. */
export function clusterOfPreset(preset: ClusterPreset, catalog: Catalog, numAccelerators: unknown): Values | null {
  const given = preset.cluster;
  const accelerator = catalog.accelerators.find(
    (item) => item.id === given.accelerator || item.aliases.includes(given.accelerator ?? ''),
  );
  if (accelerator === undefined) return null;
  const defaults = clusterDefaults(accelerator);
  return {
    ...clusterOf(accelerator, numAccelerators),
    ...present(given),
    preset: preset.id,
    accelerator: accelerator.id,
    scaleUp: { ...defaults.scaleUp, ...present(given.scaleUp ?? {}) },
    scaleOut: { ...defaults.scaleOut, ...present(given.scaleOut ?? {}) },
  };
}

export function modelOf(preset: ModelPreset): Values {
  return { ...preset.model, preset: preset.id };
}

/** Tokens per step that large runs of today settle on, about. */
const TOKENS_PER_STEP = 4 * 2 ** 20;
const MAX_FIRST_SEQUENCE = 8192;

/** The batch and length that the model's own example was trained with, or usual ones. */
export function batchOf(preset: ModelPreset, catalog: Catalog): { seqLen: number; globalBatchSize: number } {
  const example = catalog.examples.find(({ scenario }) => scenario.model.preset === preset.id);
  if (example !== undefined) {
    const { seqLen, globalBatchSize } = example.scenario.job;
    return { seqLen, globalBatchSize };
  }
  const seqLen = Math.min(preset.model.maxPositions ?? MAX_FIRST_SEQUENCE, MAX_FIRST_SEQUENCE);
  return { seqLen, globalBatchSize: Math.max(1, Math.round(TOKENS_PER_STEP / seqLen)) };
}

/** "GPT-1T on 3,072 × A100": the name until somebody gives one. */
export function autoName(draft: Draft, catalog: Catalog): string {
  const model = valueAt(draft, 'model.name');
  const id = valueAt(draft, 'cluster.accelerator');
  const numAccelerators = valueAt(draft, 'cluster.numAccelerators');
  const accelerator = catalog.accelerators.find((item) => item.id === id);
  const name = accelerator?.name.replace(`${accelerator.vendor} `, '') ?? String(id);
  const count = typeof numAccelerators === 'number' ? `${showNumber(numAccelerators)} × ` : '';
  return `${typeof model === 'string' ? model : 'Model'} on ${count}${name}`;
}

function jobFor(example: Scenario | undefined): Values {
  return (
    example?.job ?? {
      kind: 'training',
      task: 'pretrain',
      globalBatchSize: 512,
      seqLen: 4096,
      tokens: 1e12,
      precision: { compute: 'bf16', weights: 'bf16', gradients: 'fp32', optimizer: 'adam-fp32' },
      framework: { family: 'megatron-lm', version: null },
    }
  );
}

/** A small first question that is already complete: the smallest example without its split, else the first presets. */
export function firstDraft(catalog: Catalog): Draft | null {
  const [example] = [...catalog.examples].sort(
    (a, b) => a.scenario.cluster.numAccelerators - b.scenario.cluster.numAccelerators,
  );
  const model = example?.scenario.model ?? (catalog.models[0] && modelOf(catalog.models[0]));
  const cluster = example?.scenario.cluster ?? (catalog.accelerators[0] && clusterOf(catalog.accelerators[0], 8));
  if (model === undefined || cluster === undefined) return null;
  const draft: Draft = {
    format: SCENARIO_FORMAT,
    version: SCENARIO_VERSION,
    name: '',
    notes: '',
    constraints: { headroomFraction: 0.08, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
    objective: 'throughput',
    plan: null,
    model,
    cluster,
    job: jobFor(example?.scenario),
  };
  return { ...draft, name: autoName(draft, catalog) };
}

/** All of an example, under its own title. */
export function exampleValues(scenario: Scenario, title: string): Values {
  return { ...draftOf(scenario), name: title };
}
