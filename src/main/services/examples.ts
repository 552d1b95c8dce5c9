import { randomUUID } from 'node:crypto';
import type { Store } from '../db/index.ts';
import { ENGINE_VERSION, type Planner } from './planner.ts';
import type { Searches } from './searches.ts';

/** As many best plans as the pages ask for. */
const TOP = 50;

/** Puts the examples that this library has never held into it; the first of the catalog ends on top of the list. */
export function placeExamples(planner: Planner, store: Store): void {
  for (const { id, scenario } of planner.catalog.examples.toReversed())
    store.placeExample(id, randomUUID(), scenario, new Date().toISOString());
}

/** Starts the search of each example that nobody has edited and that has no results of this planning model. */
export function planExamples(store: Store, searches: Searches): void {
  for (const { id, exampleId, revision, engineVersion } of store.list())
    if (exampleId !== null && revision === 1 && engineVersion !== ENGINE_VERSION)
      searches.start({ jobId: `example-${id}`, scenarioId: id, top: TOP });
}
