/** Every call of the contract, behind one `request`: what the window and the browser door (and tests) talk to. */
import { randomUUID } from 'node:crypto';
import { calls, type AppInfo, type CallName, type Handlers } from '#shared/contract.ts';
import { AppError, inputError, wireErrorOf, type Reply } from '#shared/errors.ts';
import { issuesOf } from '#shared/schema/index.ts';
import { databaseError, openStore, type Store } from '../db/index.ts';
import { EventBus, type EventListener } from './events.ts';
import { placeExamples, planExamples } from './examples.ts';
import { libraryHandlers } from './library.ts';
import { ENGINE_VERSION, Planner } from './planner.ts';
import { Searches } from './searches.ts';

export interface ServicesOptions {
  /** Where the library is kept. */
  dataDir: string;
  /** The folder with catalog, calibration and examples. */
  resourcesDir: string;
  appVersion: string;
  /** Worker threads of a search; one per core where absent. */
  numWorkers?: number;
  /** Where faults of the program are written; standard error where absent. */
  log?: (line: string) => void;
}

export interface Services {
  /** Never rejects: what goes wrong is in the reply. */
  request(name: string, input: unknown): Promise<Reply<unknown>>;
  /** With `after`, first the events that came after that number. Returns how to stop listening. */
  subscribe(listener: EventListener, after?: number): () => void;
  /** Ends searches and worker threads and closes the library. */
  close(): Promise<void>;
}

function isCall(name: string): name is CallName {
  return Object.hasOwn(calls, name);
}

function answer(handlers: Handlers, name: CallName, input: unknown): unknown {
  const parsed = calls[name].input.safeParse(input);
  if (!parsed.success) throw inputError('bad-request', name, issuesOf(parsed.error, input));
  const handler = handlers[name] as (input: unknown) => unknown; // its own schema has just checked the input
  return handler(parsed.data);
}

type Fault = (error: unknown, about: string) => void;

function replyTo(
  thrown: unknown,
  { name, file, onFault }: { name: string; file: string; onFault: Fault },
): Reply<never> {
  const error = databaseError(thrown, file);
  if (error instanceof AppError) return { ok: false, error: error.toWire() };
  const logId = randomUUID().slice(0, 8);
  onFault(error, `call ${name}, log id ${logId}`);
  const wire = wireErrorOf(error);
  return { ok: false, error: { ...wire, message: `${wire.message} (log id ${logId})` } };
}

interface Parts {
  appVersion: string;
  planner: Planner;
  store: Store;
  events: EventBus;
  searches: Searches;
}

function handlersOf({ appVersion, planner, store, events, searches }: Parts): Handlers {
  const info: AppInfo = {
    version: appVersion,
    engineVersion: ENGINE_VERSION,
    calibrationDate: planner.calibration.date,
    evidence: planner.evidence,
    workers: planner.numWorkers,
    platform: `${process.platform} ${process.arch}`,
  };
  return {
    'app.info': () => info,
    'catalog.get': () => planner.catalog,
    ...libraryHandlers({ planner, store, events }),
    'scenario.preview': ({ scenario }) => planner.preview(planner.resolveValue(scenario)),
    'plan.evaluate': ({ scenario, plan }) => planner.evaluate(planner.resolveValue(scenario), plan),
    'plan.figures': ({ scenario, plan }) => planner.figures(planner.resolveValue(scenario), plan),
    'plan.explain': ({ scenario, plan, figure }) => planner.explain(planner.resolveValue(scenario), plan, figure),
    'plan.timeline': ({ scenario, plan }) => planner.timeline(planner.resolveValue(scenario), plan),
    'evidence.list': () => planner.evidenceRows(),
    'evidence.get': ({ id }) => planner.evidenceDetail(id),
    'evidence.nearest': ({ scenario, count }) => planner.nearestEvidence(planner.resolveValue(scenario), count),
    'log.compare': ({ scenario, plan, text }) => planner.compareLog(planner.resolveValue(scenario), plan, text),
    'search.start': (job) => {
      searches.start(job);
      return { jobId: job.jobId };
    },
    'job.cancel': ({ jobId }) => ({ cancelled: searches.cancel(jobId) }),
  } satisfies Handlers;
}

/**
 * Opens the library, places the examples and starts planning them.
 * Throws AppError where the library or a file of the program cannot be used.
 */
export function createServices(options: ServicesOptions): Services {
  const { dataDir, resourcesDir, appVersion, numWorkers } = options;
  const write = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const onFault: Fault = (error, about) =>
    write(`trainyard: ${about}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const planner = new Planner({ resourcesDir, ...(numWorkers === undefined ? {} : { numWorkers }) });
  const store = openStore(dataDir);
  const events = new EventBus();
  const searches = new Searches({ planner, store, events, onFault });
  const handlers = handlersOf({ appVersion, planner, store, events, searches });
  try {
    placeExamples(planner, store);
  } catch (error) {
    store.close();
    throw databaseError(error, store.file);
  }
  planExamples(store, searches);

  return {
    request: async (name, input) => {
      try {
        if (!isCall(name))
          throw new AppError('bad-request', `there is no call "${name}"`, {
            path: 'name',
            remedy: 'Reload the page: it may belong to another version.',
          });
        return { ok: true, value: await answer(handlers, name, input) };
      } catch (error) {
        return replyTo(error, { name, file: store.file, onFault });
      }
    },
    subscribe: (listener, after) => events.subscribe(listener, after),
    close: async () => {
      searches.close();
      await planner.close();
      store.close();
    },
  };
}
