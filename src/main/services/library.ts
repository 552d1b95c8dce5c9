/** The calls about stored scenarios. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Handlers, ScenarioCard, ScenarioRecord } from '#shared/contract.ts';
import { AppError } from '#shared/errors.ts';
import { findAccelerator, type Scenario, type SearchResult } from '#shared/schema/index.ts';
import type { Store, StoredCard } from '../db/index.ts';
import type { EventBus } from './events.ts';
import type { Planner } from './planner.ts';
import { notFound } from './searches.ts';
import { importScenario, scenarioFileName, scenarioFileText } from './transfer.ts';

interface Parts {
  planner: Planner;
  store: Store;
  events: EventBus;
}

type LibraryCall = Exclude<Extract<keyof Handlers, `scenario.${string}`>, 'scenario.preview'>;

const now = () => new Date().toISOString();

function clusterLabel(planner: Planner, { cluster }: Scenario): string {
  const { name } = findAccelerator(planner.catalog, cluster.accelerator);
  return `${cluster.numAccelerators.toLocaleString('en-US')} × ${name}`;
}

function cardOf(planner: Planner, { scenario, ...stored }: StoredCard): ScenarioCard {
  const { id, revision, name, updatedAt, exampleId, best } = stored;
  const card = { id, revision, name, updatedAt, exampleId, best };
  if (scenario === null)
    return { ...card, modelName: 'cannot be read', clusterLabel: '', parameters: 0, currency: null, best: null };
  return {
    ...card,
    modelName: scenario.model.name,
    clusterLabel: clusterLabel(planner, scenario),
    parameters: planner.preview(scenario).parameters,
    currency: scenario.cluster.price?.currency ?? null,
  };
}

/** What is left of earlier results after an edit: all, all but the place of the scenario's own plan, or nothing. */
function keptResults(before: Scenario, after: Scenario): SearchResult | null {
  const isSame = (['model', 'cluster', 'job', 'constraints', 'objective'] as const).every((part) =>
    isDeepStrictEqual(before[part], after[part]),
  );
  if (!isSame || before.results === null) return null;
  return isDeepStrictEqual(before.plan, after.plan) ? before.results : { ...before.results, reference: null };
}

function changedMeanwhile(name: string): AppError {
  return new AppError('conflict', `"${name}" was changed in another window meanwhile`, {
    path: 'revision',
    remedy: 'Load it again, or save yours as a copy.',
  });
}

/** The stored scenarios behind the calls: each change is told to all pages. */
function openShelf({ store, events }: Parts) {
  const changed = (id: string) => events.emit({ type: 'scenarios-changed', ids: [id] });
  const load = (id: string): ScenarioRecord => {
    const stored = store.get(id);
    if (stored === null) throw notFound(id);
    return stored;
  };
  return {
    load,
    add: (scenario: Scenario): ScenarioRecord => {
      const id = randomUUID();
      store.add(id, scenario, { now: now(), exampleId: null });
      changed(id);
      return load(id);
    },
    replace: (id: string, revision: number, scenario: Scenario): ScenarioRecord => {
      if (!store.update(id, revision, scenario, now())) throw changedMeanwhile(scenario.name);
      changed(id);
      return load(id);
    },
    remove: (id: string): { id: string; name: string } => {
      const name = store.remove(id, now());
      if (name === null) throw notFound(id);
      changed(id);
      return { id, name };
    },
    restore: (id: string): ScenarioRecord => {
      if (!store.restore(id)) throw notFound(id);
      changed(id);
      return load(id);
    },
  };
}

/** Handlers of the library's calls. Each throws AppError; a refused call changes nothing. */
export function libraryHandlers(parts: Parts) {
  const { planner, store } = parts;
  const shelf = openShelf(parts);
  return {
    'scenario.list': () => store.list().map((card) => cardOf(planner, card)),
    'scenario.get': ({ id }) => shelf.load(id),
    'scenario.create': ({ scenario }) => shelf.add({ ...planner.resolveValue(scenario), results: null }),
    'scenario.update': ({ id, revision, scenario }) => {
      const before = shelf.load(id);
      const after = planner.resolveValue(scenario);
      if (before.revision !== revision) throw changedMeanwhile(before.scenario.name);
      return shelf.replace(id, revision, { ...after, results: keptResults(before.scenario, after) });
    },
    'scenario.rename': ({ id, name }) => {
      const { revision, scenario } = shelf.load(id);
      return shelf.replace(id, revision, { ...scenario, name });
    },
    'scenario.duplicate': ({ id }) => {
      const { scenario } = shelf.load(id);
      return shelf.add({ ...scenario, name: `${scenario.name.slice(0, 190)} (copy)` });
    },
    'scenario.delete': ({ id }) => shelf.remove(id),
    'scenario.restore': ({ id }) => shelf.restore(id),
    'scenario.export': ({ id, withResults }) => {
      const { scenario } = shelf.load(id);
      return { fileName: scenarioFileName(scenario.name), text: scenarioFileText(scenario, withResults) };
    },
    'scenario.import': ({ fileName, text }) => {
      const { scenario, warnings } = importScenario(planner, text, fileName);
      return { ...shelf.add(scenario), warnings };
    },
  } satisfies Pick<Handlers, LibraryCall>;
}
