/**
 * What a fit may move, and for whom.
 *
 * A constant of the model (a *parameter*) starts from a prior and is multiplied by *effects*. An effect holds for a scope: a
 * stack on an accelerator, a precision on an accelerator, a stack. Its prior is log-normal around 1 with the deviation of its
 * level, so that a scope with few rows stays near what holds for all, and one with many rows speaks for itself. No effect
 * belongs to a run, a model or a table. Source: MODEL §9.
 */
import type { Effect, ParameterName, CalibratedQuantity, Scope, ScopeKey } from '../../schema/index.ts';

export type Parameters = Readonly<Record<ParameterName, number>>;

/** Where a prediction is made: what scopes are compared with. */
export type Context = Readonly<Record<ScopeKey, string>>;

/** Effects of one kind: which quantity they multiply, what tells their scopes apart, and how far they usually reach. */
export interface Level {
  quantity: CalibratedQuantity;
  scope: readonly ScopeKey[];
  /** Standard deviation of the logarithm of the factor. */
  deviation: number;
}

/** Shares of a rate that no stack can exceed. */
const CEILING: Partial<Record<ParameterName, number>> = {
  memoryEfficiency: 1,
  optimizerEfficiency: 1,
  scaleOutEfficiency: 1,
};

/** How a factor on the time of all kernels acts on the parameters: it slows matmuls, attention and memory alike. */
const computePowers: readonly (readonly [ParameterName, 1 | -1])[] = [
  ['matmulSlowdown', 1],
  ['attentionSlowdown', 1],
  ['memoryEfficiency', -1],
];

function scaled(parameters: Parameters, name: ParameterName, factor: number): Parameters {
  return { ...parameters, [name]: Math.min(parameters[name] * factor, CEILING[name] ?? Number.POSITIVE_INFINITY) };
}

/** Parameters after a factor on one quantity. */
export function withFactor(parameters: Parameters, quantity: CalibratedQuantity, factor: number): Parameters {
  if (factor === 1) return parameters;
  if (quantity !== 'compute') return scaled(parameters, quantity, factor);
  return computePowers.reduce((changed, [name, power]) => scaled(changed, name, factor ** power), parameters);
}

/** Whether an effect holds here: every key of its scope has the value of the context. */
export function isInScope(scope: Scope, context: Context): boolean {
  return Object.entries(scope).every(([key, value]) => context[key as ScopeKey] === value);
}

/** Parameters with all effects that hold in this context. */
export function resolveParameters(parameters: Parameters, effects: readonly Effect[], context: Context): Parameters {
  return effects.reduce(
    (changed, { quantity, scope, factor }) =>
      isInScope(scope, context) ? withFactor(changed, quantity, factor) : changed,
    parameters,
  );
}

/**
 * Levels of a full calibration. Deviations are judgements made before the fit: kernels of one stack on one part differ by a
 * tenth from the tables' (clocks, power, kernel generation); links by a third (fabric, tuning); host times by a factor of e.
 */
export const stackLevels: readonly Level[] = [
  { quantity: 'compute', scope: ['stack', 'accelerator'], deviation: 0.15 },
  { quantity: 'compute', scope: ['stack'], deviation: 0.08 },
  { quantity: 'compute', scope: ['stack', 'accelerator', 'kind'], deviation: 0.15 },
  { quantity: 'matmulSlowdown', scope: ['accelerator', 'precision'], deviation: 0.08 },
  { quantity: 'attentionSlowdown', scope: ['stack'], deviation: 0.3 },
  { quantity: 'memoryEfficiency', scope: ['stack'], deviation: 0.3 },
  { quantity: 'scaleUpEfficiency', scope: ['stack', 'accelerator'], deviation: 0.2 },
  { quantity: 'scaleOutEfficiency', scope: ['stack', 'accelerator'], deviation: 0.4 },
  { quantity: 'hostLaunchSeconds', scope: ['stack'], deviation: 0.5 },
  { quantity: 'hostLaunchSeconds', scope: ['accelerator'], deviation: 0.3 },
  { quantity: 'stepOverheadSeconds', scope: ['stack'], deviation: 1.5 },
  { quantity: 'stepOverheadSeconds', scope: ['stack', 'accelerator'], deviation: 0.7 },
];

/** Levels of one cluster's own profile, over everything that is known: a handful of rows must be enough. */
export const profileLevels: readonly Level[] = [
  { quantity: 'compute', scope: [], deviation: 0.2 },
  { quantity: 'attentionSlowdown', scope: [], deviation: 0.1 },
  { quantity: 'memoryEfficiency', scope: [], deviation: 0.1 },
  { quantity: 'scaleUpEfficiency', scope: [], deviation: 0.15 },
  { quantity: 'scaleOutEfficiency', scope: [], deviation: 0.3 },
  { quantity: 'hostLaunchSeconds', scope: [], deviation: 0.4 },
  { quantity: 'stepOverheadSeconds', scope: [], deviation: 0.7 },
];
