/**
 * Searches, spread over worker threads: each is cut into slices that idle workers take, one at a time. Several searches
 * share the workers evenly. The answer does not depend on the number of workers, nor on who finishes when.
 */
import { availableParallelism } from 'node:os';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { countPlans, mergeSlices, type Problem, type SliceRequest, type SliceResult } from '#shared/engine/index.ts';
import type { PlanSummary, SearchResult } from '#shared/schema/index.ts';
import type { FromWorker, ToWorker } from './protocol.ts';
import createSearchWorker from './search.worker.ts?nodeWorker';

/** Up to 50 ms of one core: short enough to share workers and to redo, long enough to be worth the message. */
const PLANS_PER_SLICE = 2000;
const MOST_SLICES = 4096;
const PROGRESS_EVERY_MILLISECONDS = 100;
/** How long a cancelled worker may take to look at the stop flag. */
const GRACE_MILLISECONDS = 500;
/** A slice whose worker died is given to one other worker. */
const MOST_ATTEMPTS = 2;

export interface SearchProgress {
  /** Plans covered so far of all in the space. */
  done: number;
  total: number;
  best: PlanSummary | null;
}

export type SearchOutcome = { type: 'done'; result: SearchResult } | { type: 'cancelled'; done: number; total: number };

export interface RunningSearch {
  /** Rejects only where the program is at fault. */
  readonly finished: Promise<SearchOutcome>;
  cancel(): void;
}

export interface SearchOptions {
  /** How many best plans to find. */
  top: number;
  /** Called at most ten times a second, and once at the start. */
  onProgress?: (progress: SearchProgress) => void;
}

interface Slice {
  request: SliceRequest;
  attempts: number;
}

interface Search {
  problem: Problem;
  stop: Int32Array;
  total: number;
  top: number;
  waiting: Slice[];
  /** By slice index, so that merging never depends on who finished first. */
  results: (SliceResult | undefined)[];
  numFinished: number;
  numRunning: number;
  best: PlanSummary | null;
  startedAt: number;
  reportedAt: number;
  onProgress: (progress: SearchProgress) => void;
  finish: (outcome: SearchOutcome) => void;
  fail: (error: Error) => void;
  isOver: boolean;
}

interface Seat {
  thread: Worker;
  search: Search | null;
  slice: Slice | null;
  covered: number;
  /** The search whose problem the thread holds. */
  knows: Search | null;
}

function isBetter(problem: Problem, a: PlanSummary, b: PlanSummary): boolean {
  const rank = (plan: PlanSummary) =>
    problem.objective === 'memory-headroom' ? plan.peakMemoryBytes : plan.stepSeconds;
  return rank(a) < rank(b) || (rank(a) === rank(b) && a.key < b.key);
}

/** The worker threads of the program. They start when there is work and wait for more until `close`. */
export class SearchPool {
  readonly numWorkers: number;
  readonly #createWorker: (options: WorkerOptions) => Worker;
  readonly #seats = new Set<Seat>();
  readonly #searches = new Set<Search>();

  constructor(numWorkers = availableParallelism(), createWorker = createSearchWorker) {
    this.numWorkers = Math.max(1, Math.floor(numWorkers));
    this.#createWorker = createWorker;
  }

  start(problem: Problem, { top, onProgress = () => undefined }: SearchOptions): RunningSearch {
    const total = countPlans(problem);
    const numSlices = Math.min(MOST_SLICES, Math.max(1, Math.ceil(total / PLANS_PER_SLICE)));
    const { promise, resolve, reject } = Promise.withResolvers<SearchOutcome>();
    const search: Search = {
      problem,
      stop: new Int32Array(new SharedArrayBuffer(4)),
      total,
      top,
      waiting: Array.from({ length: numSlices }, (_, index) => ({
        request: { index, total: numSlices, top },
        attempts: 0,
      })),
      results: new Array<undefined>(numSlices),
      numFinished: 0,
      numRunning: 0,
      best: null,
      startedAt: performance.now(),
      reportedAt: performance.now(),
      onProgress,
      finish: resolve,
      fail: reject,
      isOver: false,
    };
    this.#searches.add(search);
    onProgress({ done: 0, total, best: null });
    this.#assign();
    return { finished: promise, cancel: () => this.#cancel(search) };
  }

  /** Ends all threads; searches that still run end as cancelled. */
  async close(): Promise<void> {
    for (const search of this.#searches) this.#end(search, this.#cancelled(search));
    const seats = [...this.#seats];
    this.#seats.clear();
    await Promise.all(seats.map(({ thread }) => thread.terminate()));
  }

  /** Gives waiting slices to idle workers, the search with fewest workers first. */
  #assign(): void {
    for (;;) {
      const hungry = [...this.#searches].filter(({ waiting }) => waiting.length > 0);
      const search = hungry.sort((a, b) => a.numRunning - b.numRunning)[0];
      if (search === undefined) return;
      const seat = this.#idleSeat(search);
      const slice = search.waiting[0];
      if (seat === null || slice === undefined) return;
      search.waiting.shift();
      this.#give(seat, search, slice);
    }
  }

  #idleSeat(search: Search): Seat | null {
    const idle = [...this.#seats].filter((seat) => seat.search === null);
    const fitting = idle.find((seat) => seat.knows === search) ?? idle[0];
    if (fitting !== undefined) return fitting;
    return this.#seats.size < this.numWorkers ? this.#newSeat() : null;
  }

  #newSeat(): Seat {
    const thread = this.#createWorker({});
    const seat: Seat = { thread, search: null, slice: null, covered: 0, knows: null };
    let reason = '';
    thread.on('message', (message: FromWorker) => this.#hear(seat, message));
    thread.on('error', (error) => (reason = String(error)));
    thread.on('exit', (code) => this.#lose(seat, reason === '' ? `it ended with code ${code}` : reason));
    this.#seats.add(seat);
    return seat;
  }

  #give(seat: Seat, search: Search, slice: Slice): void {
    const send = (message: ToWorker) => seat.thread.postMessage(message);
    if (seat.knows !== search) send({ type: 'problem', problem: search.problem, stop: search.stop });
    Object.assign(seat, { search, slice, covered: 0, knows: search });
    slice.attempts++;
    search.numRunning++;
    send({ type: 'slice', request: slice.request });
  }

  /** Takes the slice back from a seat; null where it had none. */
  #release(seat: Seat): { search: Search; slice: Slice } | null {
    const { search, slice } = seat;
    Object.assign(seat, { search: null, slice: null, covered: 0 });
    if (search === null || slice === null) return null;
    search.numRunning--;
    return { search, slice };
  }

  #hear(seat: Seat, message: FromWorker): void {
    const { search, slice } = seat;
    if (search === null) return; // a late word from a cancelled slice
    if (message.type === 'progress') {
      seat.covered = message.covered;
      this.#report(search, message.best);
      return;
    }
    this.#release(seat);
    if (message.type === 'failed') this.#end(search, new Error(`the search failed: ${message.message}`));
    else if (!search.isOver && slice !== null) this.#collect(search, slice, message.result);
    this.#assign();
  }

  #collect(search: Search, { request }: Slice, result: SliceResult): void {
    if (!result.stopped) {
      search.results[request.index] = result;
      search.numFinished++;
    }
    const isStopping = Atomics.load(search.stop, 0) === 1;
    if (isStopping && search.numRunning === 0) this.#end(search, this.#cancelled(search));
    else if (search.numFinished === search.results.length) this.#complete(search);
    else this.#report(search, result.best[0] ?? null);
  }

  #complete(search: Search): void {
    const seconds = (performance.now() - search.startedAt) / 1000;
    const workers = Math.min(this.numWorkers, search.results.length);
    const slices = search.results.filter((slice) => slice !== undefined);
    try {
      const result = mergeSlices(search.problem, slices, search.top, { seconds, workers });
      this.#end(search, { type: 'done', result });
    } catch (error) {
      this.#end(search, error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** A thread is gone: its slice is done once more by another, then the search is given up. */
  #lose(seat: Seat, reason: string): void {
    this.#seats.delete(seat);
    const lost = this.#release(seat);
    if (lost === null || lost.search.isOver) return;
    const { search, slice } = lost;
    if (Atomics.load(search.stop, 0) === 1) {
      if (search.numRunning === 0) this.#end(search, this.#cancelled(search));
    } else if (slice.attempts < MOST_ATTEMPTS) search.waiting.push(slice);
    else this.#end(search, new Error(`a worker thread of the search died twice on the same slice: ${reason}`));
    this.#assign();
  }

  #doneOf(search: Search): number {
    const finished = search.results.reduce((sum, slice) => sum + (slice?.stats.enumerated ?? 0), 0);
    const running = [...this.#seats].filter((seat) => seat.search === search);
    return finished + running.reduce((sum, { covered }) => sum + covered, 0);
  }

  #report(search: Search, best: PlanSummary | null): void {
    if (best !== null && (search.best === null || isBetter(search.problem, best, search.best))) search.best = best;
    const now = performance.now();
    if (search.isOver || now - search.reportedAt < PROGRESS_EVERY_MILLISECONDS) return;
    search.reportedAt = now;
    search.onProgress({ done: this.#doneOf(search), total: search.total, best: search.best });
  }

  #cancelled(search: Search): SearchOutcome {
    return { type: 'cancelled', done: this.#doneOf(search), total: search.total };
  }

  #cancel(search: Search): void {
    if (search.isOver || Atomics.load(search.stop, 0) === 1) return;
    Atomics.store(search.stop, 0, 1);
    search.waiting = [];
    if (search.numRunning === 0) return this.#end(search, this.#cancelled(search));
    setTimeout(() => this.#evict(search), GRACE_MILLISECONDS).unref();
  }

  /** Ends the threads that did not look at the stop flag in time. */
  #evict(search: Search): void {
    for (const seat of this.#seats) if (seat.search === search) void seat.thread.terminate();
  }

  #end(search: Search, outcome: SearchOutcome | Error): void {
    if (search.isOver) return;
    search.isOver = true;
    search.waiting = [];
    Atomics.store(search.stop, 0, 1); // slices that still run are of no use any more
    this.#searches.delete(search);
    if (outcome instanceof Error) search.fail(outcome);
    else search.finish(outcome);
  }
}
