/** Searches under way and what they found. The page names the job, since its first event may beat the reply. */
import { defineStore } from 'pinia';
import { computed, shallowRef } from 'vue';
import type { PlanSummary, SearchResult } from '#shared/schema/index.ts';
import { toCallError, useClient } from '../client.ts';
import { useActivity } from './activity.ts';

export interface SearchJob {
  readonly jobId: string;
  readonly scenarioId: string;
  readonly state: 'running' | 'done' | 'cancelled' | 'failed';
  readonly done: number;
  readonly total: number;
  readonly best: PlanSummary | null;
  /** Set when done: what was found, and whether it was stored (not, when the scenario changed meanwhile). */
  readonly result: SearchResult | null;
  readonly isSaved: boolean;
  readonly message: string;
  readonly remedy: string;
}

/** Plans to keep: enough for a table that one reads and for a cell of the heat map to have several rows. */
const TOP = 100;

export const useSearch = defineStore('search', () => {
  const client = useClient();
  const activity = useActivity();
  const jobs = shallowRef<ReadonlyMap<string, SearchJob>>(new Map());
  const ends = new Map<string, () => void>();

  const running = computed(() => [...jobs.value.values()].filter((job) => job.state === 'running'));
  const jobOf = (scenarioId: string) => jobs.value.get(scenarioId) ?? null;

  function put(job: SearchJob) {
    jobs.value = new Map(jobs.value).set(job.scenarioId, job);
    if (job.state !== 'running') ends.get(job.jobId)?.();
  }
  /** Changes the job that an event names; events of a job that is over or was replaced are late and dropped. */
  function change(event: { jobId: string; scenarioId: string }, patch: Partial<SearchJob>) {
    const job = jobs.value.get(event.scenarioId);
    if (job?.jobId === event.jobId && job.state === 'running') put({ ...job, ...patch });
  }
  client.on('job-progress', (event) => change(event, { done: event.done, total: event.total, best: event.best }));
  client.on('job-done', (event) => change(event, { state: 'done', result: event.result, isSaved: event.saved }));
  client.on('job-cancelled', (event) => change(event, { state: 'cancelled', done: event.done, total: event.total }));
  client.on('job-failed', (event) => change(event, { state: 'failed', message: event.message, remedy: event.remedy }));

  async function start(scenarioId: string) {
    const end = activity.begin();
    await cancel(scenarioId);
    const jobId = crypto.randomUUID();
    const event = { jobId, scenarioId };
    const job = { ...event, done: 0, total: 0, best: null, result: null, isSaved: false, message: '', remedy: '' };
    ends.set(jobId, end);
    put({ ...job, state: 'running' });
    try {
      await client.call('search.start', { ...event, top: TOP });
    } catch (error) {
      const { message, remedy } = toCallError(error);
      change(event, { state: 'failed', message, remedy });
    }
  }

  async function cancel(scenarioId: string) {
    const job = jobs.value.get(scenarioId);
    if (job?.state !== 'running') return;
    try {
      await client.call('job.cancel', { jobId: job.jobId });
    } catch (error) {
      const { message, remedy } = toCallError(error);
      change(job, { state: 'failed', message, remedy });
    }
  }

  /** Drops what is known of a scenario's last search: its inputs have changed. A running one goes on. */
  function forget(scenarioId: string) {
    if (jobs.value.get(scenarioId)?.state === 'running') return;
    const rest = new Map(jobs.value);
    rest.delete(scenarioId);
    jobs.value = rest;
  }

  return { jobs, running, jobOf, start, cancel, forget };
});
