/** The planning model's test vectors, and how a computed value is compared with one. */
import file from './vectors.json' with { type: 'json' };

export type Kind = 'derived' | 'published' | 'measured' | 'published_readoff';

export interface Vector {
  readonly id: string;
  readonly section: string;
  readonly kind: Kind;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly expected: unknown;
  readonly unit?: string;
  /** Largest relative error. */
  readonly tolerance: number;
}

export const vectors = file.vectors as unknown as readonly Vector[];
const byId = new Map(vectors.map((vector) => [vector.id, vector]));

export function vectorOf(id: string): Vector {
  const vector = byId.get(id);
  if (vector === undefined) throw new Error(`no vector ${id}`);
  return vector;
}

/** How some vectors are answered: which production functions, and the value in the shape of `expected`. */
export interface Answer {
  readonly ids: RegExp;
  readonly by: string;
  value(vector: Vector): unknown;
  /** Why only a bound or another tolerance can be asked for; the judge of its own. */
  judge?(vector: Vector, value: unknown): string | null;
}

/** Inputs by name, as numbers. */
export type Numbers = Readonly<Record<string, number>>;
export const numbersOf = ({ inputs }: Vector): Numbers => inputs as Numbers;

/** The first of some names that the inputs have: the vectors spell the same quantity in several ways. */
export function pick(inputs: Numbers, ...names: string[]): number {
  const name = names.find((candidate) => inputs[candidate] !== undefined);
  const value = name === undefined ? undefined : inputs[name];
  if (value === undefined) throw new Error(`none of ${names.join(', ')} in ${JSON.stringify(inputs)}`);
  return value;
}

/** The part of an id after `prefix`. */
export function after(id: string, prefix: string): string {
  if (!id.startsWith(prefix)) throw new Error(`${id} does not start with ${prefix}`);
  return id.slice(prefix.length);
}

/** |value/expected − 1|, the largest over arrays and named parts; parts that the vector leaves open (null) are skipped. */
export function relativeError(value: unknown, expected: unknown): number {
  if (expected === null) return 0;
  if (typeof expected === 'number') {
    if (typeof value !== 'number' || Number.isNaN(value)) return Infinity;
    return expected === 0 ? Math.abs(value) : Math.abs(value / expected - 1);
  }
  if (typeof expected !== 'object' || typeof value !== 'object' || value === null) return Infinity;
  const errors = Object.entries(expected).map(([key, part]) =>
    relativeError((value as Record<string, unknown>)[key], part),
  );
  return Math.max(0, ...errors);
}

/** What is wrong with a computed value, in words; null where it is within the vector's tolerance. */
export function missOf(vector: Vector, value: unknown): string | null {
  const error = relativeError(value, vector.expected);
  // a tolerance of 0 asks for the same count; everything else may differ by rounding
  if (error <= Math.max(vector.tolerance, 0)) return null;
  return `${vector.id}: ${JSON.stringify(value)} is not ${JSON.stringify(vector.expected)} within ${vector.tolerance}`;
}
