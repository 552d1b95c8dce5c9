/** How the engine stands against all vectors: what is exact, how far measured ones are, what waits for whom. */
import {
  answersOf,
  exactAnswers,
  missOf,
  pending,
  pendingOf,
  relativeError,
  vectors,
  type Answer,
  type Vector,
} from './index.ts';

export interface Measured {
  readonly vector: Vector;
  readonly answer: Answer;
  readonly value: unknown;
  /** Largest relative error of its figures that the engine gives; null where a rule refuses the plan. */
  readonly error: number | null;
}

/** The part of `expected` that the value answers: NCCL's bus bandwidth is its time once more. */
function errorOf({ id, expected }: Vector, value: unknown): number | null {
  if (value === null) return null;
  const asked: unknown = id.startsWith('nccl.') && Array.isArray(expected) ? expected.slice(0, 1) : expected;
  const error = relativeError(value, asked);
  return Number.isFinite(error) ? error : null;
}

/** All vectors of an answer with what the engine gives for them. */
export function measuredBy(answer: Answer): Measured[] {
  return vectors
    .filter(({ id }) => answer.ids.test(id))
    .map((vector) => {
      const value = answer.value(vector);
      return { vector, answer, value, error: errorOf(vector, value) };
    });
}

/** The value that a share `p` of the errors does not exceed; NaN of none. */
export function percentile(errors: readonly number[], p: number): number {
  const sorted = [...errors].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? NaN;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function exactLine(): string {
  const rows = vectors.flatMap((vector) =>
    exactAnswers.filter(({ ids }) => ids.test(vector.id)).map((answer) => ({ vector, answer })),
  );
  const misses = rows.filter(({ vector, answer }) => {
    const value = answer.value(vector);
    return (answer.judge === undefined ? missOf(vector, value) : answer.judge(vector, value)) !== null;
  });
  return `derived and published vectors within tolerance: ${rows.length - misses.length} of ${rows.length}`;
}

/** Lines for people: `npm run bench` prints them. */
export function vectorLines(groups: Readonly<Record<string, readonly Answer[]>>): string[] {
  const lines = Object.entries(groups).map(([name, answers]) => {
    const rows = answers.flatMap(measuredBy);
    const errors = rows.flatMap(({ error }) => (error === null ? [] : [error]));
    const missing = rows.length - errors.length;
    const refused = missing === 0 ? '' : `, ${missing} not planned`;
    const [median, p95] = [percentile(errors, 0.5), percentile(errors, 0.95)];
    return `${name}: ${rows.length} measured, median error ${percent(median)}, 95th percentile ${percent(p95)}${refused}`;
  });
  const waiting = pending.map(({ owner, why, ids }) => {
    const count = vectors.filter(({ id }) => ids.test(id)).length;
    return `waiting for ${owner}: ${count} (${why})`;
  });
  return [exactLine(), ...lines, ...waiting];
}

/** Vectors that nobody answers, or more than one. */
export function uncovered(): string[] {
  return vectors.filter((vector) => answersOf(vector).length + pendingOf(vector).length !== 1).map(({ id }) => id);
}
