/** Planning of whole runs: how FLOPs are counted, how large to train, how failures, checkpoints, time and cost add up. */
export * from './checkpoints.ts';
export * from './cost.ts';
export * from './failures.ts';
export * from './flop-conventions.ts';
export * from './run-time.ts';
export * from './scaling-laws.ts';
