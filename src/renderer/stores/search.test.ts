import { createPinia, setActivePinia } from 'pinia';
import { beforeEach, expect, test } from 'vitest';
import { createClient, provideClient } from '../client.ts';
import { makeResult, makeSummary, makeTransport, Refusal } from '../test/fixtures.ts';
import { useActivity } from './activity.ts';
import { useSearch } from './search.ts';

let server: ReturnType<typeof makeTransport>;
let answer: unknown;

beforeEach(() => {
  answer = {};
  server = makeTransport({ 'search.start': () => answer, 'job.cancel': () => ({ cancelled: true }) });
  provideClient(createClient(server.transport));
  setActivePinia(createPinia());
});

const jobIdOf = (index: number) => (server.inputsOf('search.start')[index] as { jobId: string }).jobId;

test('follows a search from its first event, which may beat the reply, to its result', async () => {
  const search = useSearch();
  const activity = useActivity();
  const started = search.start('a');
  expect(activity.isBusy).toBe(true);
  await Promise.resolve(); // sent, not yet answered
  const jobId = jobIdOf(0);
  server.emit({ type: 'job-progress', jobId, scenarioId: 'a', done: 5, total: 10, best: makeSummary('x') });
  expect(search.jobOf('a')).toMatchObject({ state: 'running', done: 5, total: 10 });
  await started;
  server.emit({ type: 'job-done', jobId, scenarioId: 'a', result: makeResult(), saved: true });
  expect(search.jobOf('a')).toMatchObject({ state: 'done', isSaved: true });
  expect(activity.isBusy).toBe(false);
});

test('drops events of a job that is over or was replaced', async () => {
  const search = useSearch();
  await search.start('a');
  await search.start('a'); // cancels the first
  expect(server.inputsOf('job.cancel')).toEqual([{ jobId: jobIdOf(0) }]);
  server.emit({ type: 'job-progress', jobId: jobIdOf(0), scenarioId: 'a', done: 9, total: 10, best: null });
  expect(search.jobOf('a')?.done).toBe(0);
  server.emit({ type: 'job-cancelled', jobId: jobIdOf(1), scenarioId: 'a', done: 4, total: 10 });
  server.emit({ type: 'job-done', jobId: jobIdOf(1), scenarioId: 'a', result: makeResult(), saved: true });
  expect(search.jobOf('a')).toMatchObject({ state: 'cancelled', done: 4 });
});

test('a refused start is a failed job with its remedy', async () => {
  answer = new Refusal({ code: 'not-found', message: 'no such scenario', remedy: 'Choose another.' });
  const search = useSearch();
  await search.start('a');
  expect(search.jobOf('a')).toMatchObject({ state: 'failed', remedy: 'Choose another.' });
  expect(useActivity().isBusy).toBe(false);
});

test('forgets what is over, not what is running', async () => {
  const search = useSearch();
  await search.start('a');
  search.forget('a');
  expect(search.jobOf('a')).not.toBeNull();
  server.emit({ type: 'job-failed', jobId: jobIdOf(0), scenarioId: 'a', message: 'm', remedy: 'r' });
  search.forget('a');
  expect(search.jobOf('a')).toBeNull();
});
