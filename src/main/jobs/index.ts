/** Runs the engine: searches in worker threads, short questions on the spot. */
export * from './inline.ts';
export { SearchPool, type RunningSearch, type SearchOutcome, type SearchProgress } from './pool.ts';
