/**
 * Robust fit of the effects of `effects.ts` to measured step times.
 *
 * Minimises Σ w·ρ(ln(predicted ÷ measured)) + ½ Σ (ln factor ÷ deviation)², ρ soft-L1 of scale RESIDUAL_SCALE, by Gauss–Newton
 * with reweighting. Every effect of a quantity shares that quantity's derivative in a row, so a row costs one evaluation
 * per quantity whatever the number of effects. Deterministic. Source: MODEL §9.
 */
import type { Effect, CalibratedQuantity, Scope } from '../../schema/index.ts';
import { withFactor, type Context, type Level, type Parameters } from './effects.ts';
import { solvePositiveDefinite } from './linear-algebra.ts';

/** A measured run that can be predicted. */
export interface FitCase {
  context: Context;
  /** Parameters before the effects that are fitted. */
  base: Parameters;
  /** Rows with the same configuration share a group, and count as √n rows together. */
  group: string;
  /** The publication; see SOURCE_ROWS. */
  source: string;
  /** s, above 0. */
  measuredSeconds: number;
  /** Seconds of the step under these parameters. */
  predict: (parameters: Parameters) => number;
}

/** Logarithms of the factors, by the effect's key. */
export type LogFactors = ReadonlyMap<string, number>;

/** Residual (in ln) from which on a row counts less: the noise between releases that share a configuration is 2.8 %. */
const RESIDUAL_SCALE = 0.03;
/** A source with more rows than this weighs less per row, so that all of its rows grow with √n only. */
const SOURCE_ROWS = 60;
/** Relative step of the numeric derivatives. */
const DERIVATIVE_STEP = 0.02;
/** Most that one iteration may move a factor, in ln. */
const LARGEST_MOVE = 0.3;
/** The fit has converged when no factor moves more, in ln. */
const CONVERGED = 0.005;

function keyOf(level: Level, context: Context): string {
  return [level.quantity, ...level.scope.map((key) => `${key}=${context[key]}`)].join(';');
}

/** Parameters of a row with these factors. */
export function parametersOf(
  { base, context }: Pick<FitCase, 'base' | 'context'>,
  levels: readonly Level[],
  factors: LogFactors,
): Parameters {
  const logs = new Map<CalibratedQuantity, number>();
  for (const level of levels) {
    const log = factors.get(keyOf(level, context)) ?? 0;
    if (log !== 0) logs.set(level.quantity, (logs.get(level.quantity) ?? 0) + log);
  }
  return [...logs].reduce((changed, [quantity, log]) => withFactor(changed, quantity, Math.exp(log)), base);
}

function countBy<T>(items: readonly T[], keyOfItem: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOfItem(item), (counts.get(keyOfItem(item)) ?? 0) + 1);
  return counts;
}

function weightsOf(cases: readonly FitCase[]): number[] {
  const groups = countBy(cases, ({ group }) => group);
  const sources = countBy(cases, ({ source }) => source);
  return cases.map(({ group, source }) => {
    const inSource = Math.max(1, (sources.get(source) ?? 1) / SOURCE_ROWS);
    return 1 / Math.sqrt((groups.get(group) ?? 1) * inSource);
  });
}

interface Unknown {
  key: string;
  deviation: number;
}

function unknownsOf(cases: readonly FitCase[], levels: readonly Level[]): Unknown[] {
  const found = new Map<string, Unknown>();
  for (const { context } of cases)
    for (const level of levels) {
      const key = keyOf(level, context);
      found.set(key, { key, deviation: level.deviation });
    }
  return [...found.values()];
}

/** ln(predicted ÷ measured) of a row, and its derivative by each unknown that touches it, as [index, derivative]. */
function linearise(one: FitCase, levels: readonly Level[], factors: LogFactors, indexOf: ReadonlyMap<string, number>) {
  const parameters = parametersOf(one, levels, factors);
  const log = Math.log(one.predict(parameters));
  const slopes = new Map<CalibratedQuantity, number>();
  for (const { quantity } of levels)
    if (!slopes.has(quantity)) {
      const moved = one.predict(withFactor(parameters, quantity, Math.exp(DERIVATIVE_STEP)));
      slopes.set(quantity, (Math.log(moved) - log) / DERIVATIVE_STEP);
    }
  const derivatives = levels.flatMap((level): [number, number][] => {
    const index = indexOf.get(keyOf(level, one.context));
    const slope = slopes.get(level.quantity) ?? 0;
    return index === undefined || slope === 0 ? [] : [[index, slope]];
  });
  return { residual: log - Math.log(one.measuredSeconds), derivatives };
}

interface State {
  levels: readonly Level[];
  unknowns: readonly Unknown[];
  indexOf: ReadonlyMap<string, number>;
  weights: readonly number[];
  factors: LogFactors;
}

interface Equations {
  matrix: Float64Array[];
  right: Float64Array;
}

/** Adds one row's residual and derivatives, weighted: `matrix` += w·g·gᵀ, `right` −= w·g·r. */
function addRow({ matrix, right }: Equations, row: ReturnType<typeof linearise>, weight: number): void {
  for (const [i, slope] of row.derivatives) {
    right[i] = (right[i] ?? 0) - weight * slope * row.residual;
    const line = matrix[i];
    for (const [j, other] of line ? row.derivatives : []) if (line) line[j] = (line[j] ?? 0) + weight * slope * other;
  }
}

/** The linear equations of one Gauss–Newton step. */
function normalEquations(cases: readonly FitCase[], { levels, unknowns, indexOf, weights, factors }: State): Equations {
  const equations = {
    matrix: unknowns.map(() => new Float64Array(unknowns.length)),
    right: new Float64Array(unknowns.length),
  };
  for (const [index, one] of cases.entries()) {
    const row = linearise(one, levels, factors, indexOf);
    if (!Number.isFinite(row.residual)) throw new RangeError('a measured run has no positive finite prediction');
    const scaled = row.residual / RESIDUAL_SCALE;
    addRow(equations, row, (weights[index] ?? 1) / Math.sqrt(1 + scaled ** 2) / RESIDUAL_SCALE ** 2);
  }
  for (const [i, { key, deviation }] of unknowns.entries())
    addRow(equations, { residual: factors.get(key) ?? 0, derivatives: [[i, 1]] }, 1 / deviation ** 2);
  return equations;
}

/**
 * The factors that meet the cases best. `start` warm-starts those that it names.
 * Throws RangeError where a prediction is not a positive finite number.
 */
export function fitFactors(
  cases: readonly FitCase[],
  levels: readonly Level[],
  { start, iterations = 12 }: { start?: LogFactors; iterations?: number } = {},
): LogFactors {
  const unknowns = unknownsOf(cases, levels);
  const indexOf = new Map(unknowns.map(({ key }, index) => [key, index]));
  const weights = weightsOf(cases);
  const factors = new Map(unknowns.map(({ key }) => [key, start?.get(key) ?? 0]));
  for (let iteration = 0; iteration < iterations; iteration += 1) {
    const equations = normalEquations(cases, { levels, unknowns, indexOf, weights, factors });
    const moves = solvePositiveDefinite(equations.matrix, equations.right).map((move) =>
      Math.max(-LARGEST_MOVE, Math.min(LARGEST_MOVE, move)),
    );
    for (const [i, { key }] of unknowns.entries()) factors.set(key, (factors.get(key) ?? 0) + (moves[i] ?? 0));
    if (moves.every((move) => Math.abs(move) < CONVERGED)) break;
  }
  return factors;
}

/** Effects closer to 1 than this say nothing (ln). */
const NEGLIGIBLE = 0.001;

/** The fitted factors as effects of a calibration file, with how many rows each was seen in. */
export function effectsOf(cases: readonly FitCase[], levels: readonly Level[], factors: LogFactors): Effect[] {
  const effects = new Map<string, Effect>();
  for (const { context } of cases)
    for (const level of levels) {
      const key = keyOf(level, context);
      const log = factors.get(key) ?? 0;
      if (Math.abs(log) < NEGLIGIBLE) continue;
      const known = effects.get(key);
      if (known !== undefined) {
        known.rows += 1;
        continue;
      }
      const scope: Scope = Object.fromEntries(level.scope.map((name) => [name, context[name]]));
      const factor = Number(Math.exp(log).toPrecision(4));
      effects.set(key, { quantity: level.quantity, scope, factor, deviation: level.deviation, rows: 1 });
    }
  return [...effects.values()].sort((a, b) => order(a).localeCompare(order(b), 'en'));
}

const order = ({ quantity, scope }: Effect) => `${quantity} ${Object.keys(scope).length} ${JSON.stringify(scope)}`;
