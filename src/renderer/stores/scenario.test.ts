import { createPinia, setActivePinia } from 'pinia';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ScenarioRecord } from '#shared/contract.ts';
import { createClient, provideClient } from '../client.ts';
import { makeRecord, makeResult, makeScenario, makeTransport, Refusal } from '../test/fixtures.ts';
import { draftOf } from './draft.ts';
import { useScenario } from './scenario.ts';

const preview = { parameters: 1 };
let stored: ScenarioRecord;
let server: ReturnType<typeof makeTransport>;

/** Accepts a draft whose batch is a number; keeps one scenario with revisions. */
function refuseText({ scenario }: { scenario: { job: { globalBatchSize: unknown } } }) {
  const { globalBatchSize } = scenario.job;
  if (typeof globalBatchSize === 'number') return preview;
  const issues = [{ path: 'job.globalBatchSize', message: 'expected a number', remedy: 'Give a number.' }];
  return new Refusal({ code: 'invalid-field', message: 'scenario', issues });
}
function update({ revision, scenario }: { revision: number; scenario: ScenarioRecord['scenario'] }) {
  if (revision !== stored.revision) return new Refusal({ code: 'conflict', message: 'changed meanwhile' });
  stored = makeRecord({ revision: revision + 1, scenario: { ...scenario, results: null } });
  return stored;
}

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
  stored = makeRecord();
  server = makeTransport({
    'scenario.get': () => stored,
    'scenario.preview': refuseText,
    'scenario.update': update,
    'scenario.create': ({ scenario }: { scenario: ScenarioRecord['scenario'] }) =>
      makeRecord({ id: 'new', scenario: { ...scenario, results: null } }),
  });
  provideClient(createClient(server.transport));
  setActivePinia(createPinia());
});
afterEach(() => vi.useRealTimers());

const settle = () => vi.advanceTimersByTimeAsync(1000);
async function opened() {
  const scenario = useScenario();
  await scenario.open('a');
  return scenario;
}

test('a valid edit is saved by itself, once for a burst of letters', async () => {
  const scenario = await opened();
  for (const value of [2, 25, 256]) scenario.edit('job.globalBatchSize', value);
  expect(scenario.saveState).toBe('unsaved');
  await settle();
  expect(server.inputsOf('scenario.update')).toHaveLength(1);
  expect(stored.scenario.job.globalBatchSize).toBe(256);
  expect(scenario.saveState).toBe('saved');
  expect(scenario.record?.revision).toBe(2);
});

test('what is not valid is not saved, is told at its field, and survives a reload', async () => {
  const scenario = await opened();
  scenario.edit('job.globalBatchSize', 'many');
  await settle();
  expect(scenario.issues.find(({ path }) => path === 'job.globalBatchSize')?.message).toBe('expected a number');
  expect(scenario.saveState).toBe('invalid');
  expect(server.inputsOf('scenario.update')).toHaveLength(0);

  setActivePinia(createPinia()); // the page is loaded again
  const again = await opened();
  expect(again.draft).toMatchObject({ job: { globalBatchSize: 'many' } });
  again.undo();
  expect(again.draft).toEqual(draftOf(makeScenario()));
});

test('undo and redo are saved too', async () => {
  const scenario = await opened();
  scenario.edit('job.globalBatchSize', 64);
  await settle();
  scenario.undo();
  await settle();
  expect(stored.scenario.job.globalBatchSize).toBe(512);
  scenario.redo();
  await settle();
  expect(stored.scenario.job.globalBatchSize).toBe(64);
});

test('a different stored version is a conflict that the reader decides', async () => {
  const scenario = await opened();
  stored = makeRecord({ revision: 2, scenario: makeScenario({ name: 'Theirs' }) });
  scenario.edit('job.globalBatchSize', 64);
  await settle();
  expect(scenario.conflict?.scenario.name).toBe('Theirs');
  expect(stored.scenario.job.globalBatchSize).toBe(512);

  await scenario.overwriteTheirs();
  expect(scenario.conflict).toBeNull();
  expect(stored).toMatchObject({ revision: 3, scenario: { name: 'Test', job: { globalBatchSize: 64 } } });
});

test('theirs can be taken', async () => {
  const scenario = await opened();
  stored = makeRecord({ revision: 2, scenario: makeScenario({ name: 'Theirs' }) });
  scenario.edit('job.globalBatchSize', 64);
  await settle();
  scenario.takeTheirs();
  expect(scenario.draft['name']).toBe('Theirs');
  expect(scenario.isDirty).toBe(false);
});

test('results that were added meanwhile are no conflict', async () => {
  const scenario = await opened();
  stored = makeRecord({ revision: 2, scenario: makeScenario({ results: makeResult() }) });
  scenario.edit('job.globalBatchSize', 64);
  await settle();
  expect(scenario.conflict).toBeNull();
  expect(stored).toMatchObject({ revision: 3, scenario: { job: { globalBatchSize: 64 } } });
});

test('a change from elsewhere is taken over where nothing was edited', async () => {
  const scenario = await opened();
  stored = makeRecord({ revision: 2, scenario: makeScenario({ name: 'Renamed' }) });
  server.emit({ type: 'scenarios-changed', ids: ['a'] });
  await settle();
  expect(scenario.record?.scenario.name).toBe('Renamed');
});

test('a change while the scenario is being opened is not lost', async () => {
  const renamed = makeRecord({ revision: 2, scenario: makeScenario({ name: 'Renamed' }) });
  server = makeTransport({
    'scenario.get': () => {
      const before = stored;
      if (stored !== renamed) server.emit({ type: 'scenarios-changed', ids: ['a'] });
      stored = renamed;
      return before;
    },
    'scenario.preview': refuseText,
  });
  provideClient(createClient(server.transport));
  setActivePinia(createPinia());
  const scenario = await opened();
  expect(scenario.record?.scenario.name).toBe('Renamed');
});

test('a scenario that was deleted elsewhere says so, until that is undone', async () => {
  const scenario = await opened();
  const before = stored;
  stored = new Refusal({ code: 'not-found', message: 'no such scenario' }) as unknown as ScenarioRecord;
  server.emit({ type: 'scenarios-changed', ids: ['a'] });
  await settle();
  expect(scenario.openError?.code).toBe('not-found');
  stored = before;
  server.emit({ type: 'scenarios-changed', ids: ['a'] });
  await settle();
  expect(scenario.openError).toBeNull();
});

test('a new scenario is stored on demand; until then it is kept for the next visit', async () => {
  const scenario = useScenario();
  expect(scenario.beginNew(draftOf(makeScenario()))).toBe(false);
  scenario.edit('name', 'Mine');
  await settle();
  expect(server.inputsOf('scenario.create')).toHaveLength(0);

  setActivePinia(createPinia());
  const again = useScenario();
  expect(again.beginNew(draftOf(makeScenario()))).toBe(true);
  expect(again.draft['name']).toBe('Mine');
  const record = await again.create();
  expect(record.id).toBe('new');
  expect(again.saveState).toBe('saved');
  expect(again.beginNew(draftOf(makeScenario()))).toBe(false); // nothing is left to restore
});

test('flush waits for the check and the save that are under way', async () => {
  const scenario = await opened();
  scenario.edit('job.globalBatchSize', 64);
  await expect(scenario.flush()).resolves.toBe(true);
  expect(stored.scenario.job.globalBatchSize).toBe(64);
  scenario.edit('job.globalBatchSize', '');
  await expect(scenario.flush()).resolves.toBe(false);
});
