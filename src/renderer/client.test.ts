import { expect, test, vi } from 'vitest';
import { CallError, createClient, toCallError } from './client.ts';
import { makeTransport, Refusal } from './test/fixtures.ts';

test('a call gives the reply’s value and counts as pending until then', async () => {
  const { transport } = makeTransport({ 'scenario.list': () => [] });
  const client = createClient(transport);
  const answer = client.call('scenario.list', {});
  expect(client.pending.value).toBe(1);
  await expect(answer).resolves.toEqual([]);
  expect(client.pending.value).toBe(0);
});

test('a refusal becomes a CallError with its remedy and every fault', async () => {
  const issues = [{ path: 'model.hiddenSize', message: 'is missing', remedy: 'Give a number.' }];
  const refusal = new Refusal({ code: 'invalid-field', message: 'scenario: …', remedy: 'Correct it.', issues });
  const client = createClient(makeTransport({ 'scenario.preview': () => refusal }).transport);
  const error = await client.call('scenario.preview', { scenario: {} }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CallError);
  expect(error).toMatchObject({ code: 'invalid-field', remedy: 'Correct it.', issues });
  expect(client.pending.value).toBe(0);
});

test('a listener hears only its type of event, and nothing after it stopped', () => {
  const { transport, emit } = makeTransport({});
  const hear = vi.fn();
  const stop = createClient(transport).on('scenarios-changed', hear);
  emit({ type: 'menu', command: 'library' });
  emit({ type: 'scenarios-changed', ids: ['a'] });
  stop();
  emit({ type: 'scenarios-changed', ids: ['b'] });
  expect(hear.mock.calls).toEqual([[{ type: 'scenarios-changed', ids: ['a'] }]]);
});

test('anything thrown can be shown', () => {
  expect(toCallError('odd')).toMatchObject({ code: 'internal', message: 'odd' });
  expect(toCallError(new Error('bad')).remedy).not.toBe('');
});
