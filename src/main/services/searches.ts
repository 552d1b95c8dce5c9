import { AppError } from '#shared/errors.ts';
import type { Store } from '../db/index.ts';
import type { RunningSearch, SearchOutcome } from '../jobs/index.ts';
import type { EventBus } from './events.ts';
import type { Planner } from './planner.ts';

interface Parts {
  planner: Planner;
  store: Store;
  events: EventBus;
  /** Told of a fault of the program, with what it was about. */
  onFault: (error: unknown, about: string) => void;
}

export interface SearchJob {
  jobId: string;
  scenarioId: string;
  top: number;
}

/** Searches over stored scenarios: each ends in exactly one of job-done, job-cancelled and job-failed. */
export class Searches {
  readonly #parts: Parts;
  readonly #running = new Map<string, RunningSearch>();
  #isClosing = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  start({ jobId, scenarioId, top }: SearchJob): void {
    const { planner, store, events } = this.#parts;
    if (this.#running.has(jobId))
      throw new AppError('job-exists', `a job ${jobId} is running already`, {
        path: 'jobId',
        remedy: 'Choose another id, or cancel that job first.',
      });
    const stored = store.get(scenarioId);
    if (stored === null) throw notFound(scenarioId);
    const ids = { jobId, scenarioId };
    const search = planner.search(stored.scenario, {
      top,
      onProgress: (progress) => events.emit({ type: 'job-progress', ...ids, ...progress }),
    });
    this.#running.set(jobId, search);
    search.finished
      .then((outcome) => this.#finish(ids, stored.revision, outcome))
      .catch((error: unknown) => this.#fail(ids, error));
  }

  /** False where no such job is running. */
  cancel(jobId: string): boolean {
    const search = this.#running.get(jobId);
    search?.cancel();
    return search !== undefined;
  }

  /** From now on nothing is saved or told any more: the library is about to be closed. */
  close(): void {
    this.#isClosing = true;
  }

  #finish(ids: { jobId: string; scenarioId: string }, revision: number, outcome: SearchOutcome): void {
    const { store, events } = this.#parts;
    if (this.#isClosing) return;
    this.#running.delete(ids.jobId); // who hears of the end may use the id again
    if (outcome.type === 'cancelled') {
      events.emit({ ...outcome, ...ids, type: 'job-cancelled' });
      return;
    }
    const { result } = outcome;
    const saved = store.saveResults(ids.scenarioId, revision, result);
    events.emit({ type: 'job-done', ...ids, result, saved });
    if (saved) events.emit({ type: 'scenarios-changed', ids: [ids.scenarioId] });
  }

  #fail(ids: { jobId: string; scenarioId: string }, error: unknown): void {
    if (this.#isClosing) return;
    this.#running.delete(ids.jobId);
    this.#parts.onFault(error, `search ${ids.jobId}`);
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    const remedy = 'Start the search again. If it fails again, report it with the log.';
    this.#parts.events.emit({ type: 'job-failed', ...ids, message, remedy });
  }
}

export function notFound(id: string): AppError {
  return new AppError('not-found', `there is no scenario ${id}`, {
    path: 'id',
    remedy: 'It may have been deleted meanwhile: go back to the library.',
  });
}
