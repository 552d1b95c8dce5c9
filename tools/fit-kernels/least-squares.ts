/**
 * Robust non-linear least squares for a handful of positive parameters.
 *
 * Parameters are fitted in log space, so their steps are relative and they stay positive. The loss is soft-L1
 * (2(√(1+z)−1), z = (r/scale)²): quadratic near zero, linear far out, so a few odd measurements do not bend the
 * curve. A weak pull towards the start values decides parameters that the rows leave open. No randomness.
 */
export interface Parameter {
  readonly name: string;
  readonly start: number;
  readonly lower: number;
  readonly upper: number;
}

export interface Problem {
  readonly parameters: readonly Parameter[];
  /** Residual per row: log of predicted over measured. */
  readonly residuals: (values: readonly number[]) => Float64Array;
  /** Factor on each row's loss. */
  readonly weights: Float64Array;
}

const RESIDUAL_SCALE = 0.05;
/** Weight of ln(value/start): a factor of e from the start costs as much as one row that is off by this. */
const PRIOR_WEIGHT = 0.03;
const MAX_ITERATIONS = 60;
const DERIVATIVE_STEP = 0.01;

/** Fitted values in the order of the parameters, rounded to four significant digits. */
export function fitParameters(problem: Problem): number[] {
  const { parameters } = problem;
  let logs = parameters.map((parameter) => Math.log(parameter.start));
  let cost = robustCost(problem, logs);
  let damping = 1e-2;
  for (let iteration = 0; iteration < MAX_ITERATIONS; iteration += 1) {
    const { matrix, gradient } = normalEquations(problem, logs);
    let accepted = false;
    while (!accepted && damping < 1e8) {
      const step = solve(damped(matrix, damping), gradient);
      const candidate = logs.map((value, i) => clamp(value - at(step, i), parameterAt(parameters, i)));
      const candidateCost = robustCost(problem, candidate);
      accepted = candidateCost < cost;
      if (!accepted) {
        damping *= 4;
        continue;
      }
      const gain = (cost - candidateCost) / cost;
      [logs, cost] = [candidate, candidateCost];
      damping = Math.max(damping / 3, 1e-7);
      if (gain < 1e-7) return values(logs);
    }
    if (!accepted) break;
  }
  return values(logs);
}

function values(logs: readonly number[]): number[] {
  return logs.map((value) => Number(Math.exp(value).toPrecision(4)));
}

function clamp(value: number, parameter: Parameter): number {
  return Math.min(Math.log(parameter.upper), Math.max(Math.log(parameter.lower), value));
}

/** Row residuals followed by one prior residual per parameter. */
function allResiduals(problem: Problem, logs: readonly number[]): Float64Array {
  const rows = problem.residuals(logs.map(Math.exp));
  const all = new Float64Array(rows.length + logs.length);
  all.set(rows);
  // Scaled by √rows so that the pull does not vanish next to thousands of rows.
  const weight = PRIOR_WEIGHT * Math.sqrt(rows.length) * RESIDUAL_SCALE;
  for (const [i, value] of logs.entries()) {
    all[rows.length + i] = weight * (value - Math.log(parameterAt(problem.parameters, i).start));
  }
  return all;
}

function robustCost(problem: Problem, logs: readonly number[]): number {
  let sum = 0;
  for (const [row, residual] of allResiduals(problem, logs).entries()) {
    const loss = 2 * (Math.sqrt(1 + (residual / RESIDUAL_SCALE) ** 2) - 1);
    sum += weightOf(problem, row) * loss;
  }
  if (!Number.isFinite(sum)) throw new Error('the fit produced a residual that is not finite');
  return sum;
}

/** JᵀWJ and JᵀWr with W the soft-L1 weights (iteratively reweighted least squares). */
function normalEquations(problem: Problem, logs: readonly number[]): { matrix: number[][]; gradient: number[] } {
  const base = allResiduals(problem, logs);
  const columns = logs.map((_, i) => {
    // Step inwards at the upper bound, so that the model is never evaluated outside its bounds.
    const limit = Math.log(parameterAt(problem.parameters, i).upper);
    const step = at(logs, i) + DERIVATIVE_STEP > limit ? -DERIVATIVE_STEP : DERIVATIVE_STEP;
    const moved = allResiduals(problem, logs.with(i, at(logs, i) + step));
    return moved.map((residual, row) => (residual - at(base, row)) / step);
  });
  const weights = base.map((residual, row) => weightOf(problem, row) / Math.sqrt(1 + (residual / RESIDUAL_SCALE) ** 2));
  const weightedDot = (a: Float64Array, b: Float64Array): number => {
    let sum = 0;
    for (let row = 0; row < a.length; row += 1) sum += at(weights, row) * at(a, row) * at(b, row);
    return sum;
  };
  return {
    matrix: columns.map((a) => columns.map((b) => weightedDot(a, b))),
    gradient: columns.map((a) => weightedDot(a, base)),
  };
}

/** The row's weight; the prior residuals behind the rows have weight 1. */
function weightOf(problem: Problem, row: number): number {
  return problem.weights[row] ?? 1;
}

function damped(matrix: readonly number[][], damping: number): number[][] {
  return matrix.map((row, i) => row.map((value, j) => (i === j ? value * (1 + damping) + 1e-12 : value)));
}

/** x of A·x = b by Gaussian elimination with partial pivoting. */
function solve(matrix: readonly number[][], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, at(right, i)]);
  const size = rows.length;
  for (let pivot = 0; pivot < size; pivot += 1) {
    const candidates = rows.slice(pivot);
    const strongest = candidates.reduce((a, b) => (Math.abs(at(b, pivot)) > Math.abs(at(a, pivot)) ? b : a));
    const from = rows.indexOf(strongest);
    [rows[pivot], rows[from]] = [strongest, rowAt(rows, pivot)];
    for (const row of rows.slice(pivot + 1)) {
      const factor = at(row, pivot) / at(strongest, pivot);
      for (let j = pivot; j <= size; j += 1) row[j] = at(row, j) - factor * at(strongest, j);
    }
  }
  const solution = new Array<number>(size).fill(0);
  for (let i = size - 1; i >= 0; i -= 1) {
    const row = rowAt(rows, i);
    let sum = at(row, size);
    for (let j = i + 1; j < size; j += 1) sum -= at(row, j) * at(solution, j);
    solution[i] = sum / at(row, i);
  }
  return solution;
}

function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

function rowAt(rows: readonly number[][], index: number): number[] {
  const row = rows[index];
  if (row === undefined) throw new Error(`no row ${index}`);
  return row;
}

function parameterAt(parameters: readonly Parameter[], index: number): Parameter {
  const parameter = parameters[index];
  if (parameter === undefined) throw new Error(`no parameter ${index}`);
  return parameter;
}
