/** Everything stored or exchanged: one zod schema each, all types inferred from them. */
export * from './calibration.ts';
export * from './catalog.ts';
export * from './estimate.ts';
export * from './evidence.ts';
export * from './figure.ts';
export * from './hardware.ts';
export * from './job.ts';
export * from './layers.ts';
export * from './model.ts';
export * from './plan.ts';
export * from './primitives.ts';
export * from './run.ts';
export * from './resolve.ts';
export * from './scenario.ts';
export * from './timeline.ts';
