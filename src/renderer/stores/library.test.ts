import { createPinia, setActivePinia } from 'pinia';
import { beforeEach, expect, test } from 'vitest';
import type { ScenarioCard } from '#shared/contract.ts';
import { createClient, provideClient } from '../client.ts';
import { makeTransport, Refusal } from '../test/fixtures.ts';
import { useLibrary } from './library.ts';

const card = (id: string, name: string): ScenarioCard => ({
  ...{ id, name, revision: 1, modelName: 'Llama', clusterLabel: '8 × H100', parameters: 8e9, updatedAt: '2026-01-01' },
  ...{ exampleId: null, currency: null, best: null },
});
let list: ScenarioCard[];
let deletion: unknown;
let server: ReturnType<typeof makeTransport>;

beforeEach(() => {
  list = [card('a', 'First'), card('b', 'Second one')];
  deletion = { id: 'a', name: 'First' };
  server = makeTransport({ 'scenario.list': () => list, 'scenario.delete': () => deletion });
  provideClient(createClient(server.transport));
  setActivePinia(createPinia());
});

test('finds cards by all words, in name, model or cluster', async () => {
  const library = useLibrary();
  await library.load();
  library.query = 'h100 second';
  expect(library.found.map(({ id }) => id)).toEqual(['b']);
  library.query = '';
  expect(library.found).toHaveLength(2);
});

test('reads the list again when scenarios changed', async () => {
  const library = useLibrary();
  await library.load();
  list = [card('c', 'Third')];
  server.emit({ type: 'scenarios-changed', ids: ['c'] });
  await new Promise((resolve) => setTimeout(resolve));
  expect(library.cards.map(({ id }) => id)).toEqual(['c']);
});

test('reads the list again when scenarios changed while the first list was on its way', async () => {
  const library = useLibrary();
  const first = library.load();
  list = [card('c', 'Third')];
  server.emit({ type: 'scenarios-changed', ids: ['c'] });
  await first;
  await new Promise((resolve) => setTimeout(resolve));
  expect(library.cards.map(({ id }) => id)).toEqual(['c']);
  expect(library.isLoaded).toBe(true);
});

test('a deletion that is refused brings the card back', async () => {
  const library = useLibrary();
  await library.load();
  deletion = new Refusal({ code: 'file-unwritable', message: 'read-only' });
  await expect(library.remove('a')).rejects.toThrow('read-only');
  expect(library.cards).toHaveLength(2);
});
