/** What the wizard's parts share: the draft's fields by path, presets put in as one step, and the name that follows. */
import { computed, type WritableComputedRef } from 'vue';
import type { Catalog } from '#shared/schema/index.ts';
import { useCatalog } from '../../stores/catalog.ts';
import { valueAt, withValues, type Draft } from '../../stores/draft.ts';
import { useScenario } from '../../stores/scenario.ts';
import { capital } from '../../words.ts';
import { loraInitial } from './field-specs.ts';
import type { FieldSpec } from './field-types.ts';
import { autoName, batchOf, clusterOf, clusterOfPreset, exampleValues, modelOf } from './new-draft.ts';

type Values = Readonly<Record<string, unknown>>;

/** A preset's name stays only as long as the values are the preset's; one that leaves the number open keeps it. */
function unlinked(path: string, draft: Draft, catalog: Catalog | null): Values {
  if (path.startsWith('model.') && path !== 'model.name') return { 'model.preset': null };
  if (!path.startsWith('cluster.') || path.startsWith('cluster.price')) return {};
  const id = valueAt(draft, 'cluster.preset');
  const preset = catalog?.clusters.find((item) => item.id === id);
  if (path === 'cluster.numAccelerators' && preset?.cluster.numAccelerators === undefined) return {};
  return { 'cluster.preset': null };
}

/** The task and its adapters say the same thing: one follows the other. */
export function coupled(path: string, value: unknown, draft: Draft): Values {
  if (path === 'job.lora') {
    const task = valueAt(draft, 'job.task');
    return { 'job.task': value === null ? (task === 'lora' ? 'sft' : task) : 'lora' };
  }
  if (path !== 'job.task') return {};
  return { 'job.lora': value === 'lora' ? (valueAt(draft, 'job.lora') ?? loraInitial) : null };
}

/** What is wrong with a value that is text where a number should be; said at once, without asking the services. */
function localError(spec: FieldSpec, value: unknown): string | null {
  if (spec.kind !== 'count' && spec.kind !== 'number' && spec.kind !== 'percent') return null;
  if (value === '') return 'This can’t be empty. Type a number.';
  if (typeof value !== 'string') return null;
  const example = spec.kind === 'percent' ? '8 or 8.5' : spec.kind === 'count' ? '3,072, 450B or 1.5T' : '3.5 or 400';
  return `“${value}” is not a number. Type digits, e.g. ${example}.`;
}

export function useWizard() {
  const scenario = useScenario();
  const catalog = useCatalog();

  /** The name that follows from a change, while nobody has given one. */
  function withName(values: Values, known: Catalog): Values {
    if ('name' in values) return values;
    if (scenario.draft['name'] !== autoName(scenario.draft, known)) return values;
    return { ...values, name: autoName(withValues(scenario.draft, values), known) };
  }
  function change(path: string, value: unknown) {
    const also = catalog.catalog === null ? {} : withName({ [path]: value }, catalog.catalog);
    scenario.edit(path, value, {
      ...unlinked(path, scenario.draft, catalog.catalog),
      ...coupled(path, value, scenario.draft),
      ...also,
    });
  }
  function changeAll(values: Values) {
    scenario.editAll(catalog.catalog === null ? values : withName(values, catalog.catalog));
  }

  const value = (path: string) => valueAt(scenario.draft, path);
  function field<T>(path: string): WritableComputedRef<T> {
    return computed({ get: () => value(path) as T, set: (next) => change(path, next) });
  }
  /** The fault at a path or below it. */
  function errorAt(path: string): string | null {
    const issue = scenario.issues.find((item) => item.path === path || item.path.startsWith(`${path}.`));
    return issue === undefined ? null : `${capital(issue.message)}. ${issue.remedy}`;
  }
  function errorOf(spec: FieldSpec): string | null {
    return localError(spec, value(spec.path)) ?? errorAt(spec.path);
  }

  return { field, value, change, changeAll, errorAt, errorOf };
}

/** What the presets of the catalog put into the draft. */
export function usePresets() {
  const scenario = useScenario();
  const catalog = useCatalog();
  const { value, changeAll } = useWizard();

  function chooseModel(id: string, { withBatch = false } = {}) {
    const known = catalog.catalog;
    const preset = known?.models.find((item) => item.id === id);
    if (known === null || preset === undefined) return;
    const batch = withBatch ? batchOf(preset, known) : null;
    changeAll({
      model: modelOf(preset),
      plan: null, // a split of another model says nothing
      ...(batch === null ? {} : { 'job.seqLen': batch.seqLen, 'job.globalBatchSize': batch.globalBatchSize }),
    });
  }
  function chooseAccelerator(id: string) {
    const accelerator = catalog.accelerators.find((item) => item.id === id);
    if (accelerator !== undefined) changeAll({ cluster: clusterOf(accelerator, value('cluster.numAccelerators')) });
  }
  function chooseCluster(id: string) {
    const known = catalog.catalog;
    const preset = known?.clusters.find((item) => item.id === id);
    if (known === null || preset === undefined) return;
    const cluster = clusterOfPreset(preset, known, value('cluster.numAccelerators'));
    if (cluster !== null) changeAll({ cluster });
  }
  function chooseExample(id: string) {
    const example = catalog.catalog?.examples.find((item) => item.id === id);
    if (example !== undefined) scenario.editAll(exampleValues(example.scenario, example.title));
  }

  return { chooseModel, chooseAccelerator, chooseCluster, chooseExample };
}
