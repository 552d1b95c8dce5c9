/** Building blocks of the schemas, with messages that say what was expected, and the bridge from zod to our issues. */
import { z } from 'zod';
import type { Issue } from '../errors.ts';

z.config({ jitless: true }); // the pages' Content-Security-Policy forbids eval

/** A whole number of things, at least one. */
export const count = z.int().min(1);
/** A whole number of things, possibly none. */
export const countOrZero = z.int().min(0);
/** A finite number above zero. */
export const positive = z.number().positive({ abort: true }).min(1e-6).max(1e18);
/** A finite number, zero or above. */
export const nonNegative = z.number().nonnegative();
/** A share between 0 and 1. */
export const fraction = z.number().min(0).max(1);
/** A short human name. */
export const shortText = z.string().trim().min(1).max(200);

/** Degrees and sizes above these are taken for slips of the hand; they also keep all sums exact in a double. */
export const MAX_ACCELERATORS = 4_194_304;

/**
 * The object with every field optional and no default filled in: what is absent stays absent, so that a preset can give
 * it. (zod's own `.partial()` keeps defaults, which would then override the preset.)
 */
export function sparse<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape, z.core.$strict>) {
  const bare = Object.entries(schema.shape).map(([key, field]) => [
    key,
    field instanceof z.ZodDefault ? field.unwrap() : field,
  ]);
  return z.strictObject(Object.fromEntries(bare) as Shape).partial();
}

type ZodIssue = z.core.$ZodIssue;

/** A value as it is shown in a message; never throws, whatever it is. */
function found(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  if (value === null) return 'null';
  const text = typeof value === 'string' ? JSON.stringify(value) : (value as number | bigint | boolean).toString();
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

const nouns: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/** `least 1`, `most 200 characters`: the bound of a number, a text or a list. */
function bound(word: string, limit: number | bigint, origin: string): string {
  const unit = origin === 'string' ? 'character' : origin === 'array' ? 'item' : '';
  const items = unit === '' ? '' : ` ${unit}${Number(limit) === 1 ? '' : 's'}`;
  return `${word} ${limit.toLocaleString('en-US', { maximumSignificantDigits: 15 })}${items}`;
}

/** What would have been right, as the end of "must …" and "Give …"; null where zod's own words have to do. */
function wanted(issue: ZodIssue, value: unknown): string | null {
  switch (issue.code) {
    case 'invalid_type':
      if (typeof value === 'number' && !Number.isFinite(value)) return 'be a finite number';
      return `be ${nouns[issue.expected] ?? issue.expected}`;
    case 'too_small': {
      const holds = issue.origin === 'string' || issue.origin === 'array' ? 'have' : 'be';
      return `${holds} ${bound(issue.inclusive === false ? 'above' : 'at least', issue.minimum, issue.origin)}`;
    }
    case 'too_big': {
      const holds = issue.origin === 'string' || issue.origin === 'array' ? 'have' : 'be';
      return `${holds} ${bound(issue.inclusive === false ? 'below' : 'at most', issue.maximum, issue.origin)}`;
    }
    case 'invalid_value': {
      const allowed = issue.values.map(String);
      return allowed.length === 1 ? `be ${allowed[0] ?? ''}` : `be one of ${allowed.join(', ')}`;
    }
    case 'invalid_union': {
      const ways = issue.errors.map((branch) => branch[0]).filter((first) => first !== undefined);
      const words = ways.map((way) => wanted(way, value)).filter((text) => text !== null);
      const [first, ...rest] = [...new Set(words)];
      return first === undefined ? null : [first, ...rest.map((text) => text.replace(/^be /, ''))].join(' or ');
    }
    default:
      return null;
  }
}

/** "be at least 1" → "Give a value of at least 1." */
function remedyOf(want: string): string {
  const what = want.replace(/^(be|have) /, '');
  if (what.startsWith('one of ')) return `Use one of: ${what.slice('one of '.length)}.`;
  if (want.startsWith('have ')) return `Use ${what}.`;
  return `Give ${what.replace(/^at /, 'a value of at ').replace(/^(above|below) /, 'a value $1 ')}.`;
}

function explain(issue: ZodIssue, value: unknown): { message: string; remedy: string } {
  const want = wanted(issue, value);
  if (want === null) return { message: `${issue.message}, found ${found(value)}`, remedy: 'Correct the value.' };
  return {
    message: value === undefined ? 'is missing' : `must ${want}, found ${found(value)}`,
    remedy: remedyOf(want),
  };
}

/** Our issues (dotted path, message, remedy) for a failed parse of `input`, one per place. */
export function issuesOf(error: z.ZodError, input: unknown, root = ''): Issue[] {
  const pathOf = (...parts: PropertyKey[]) => [root, ...parts.map(String)].filter((part) => part !== '').join('.');
  const kept = new Map<string, { code: string; issue: Issue }>();
  const add = (code: string, issue: Issue) => {
    // of two bounds on one value the later one is ours and the tighter; of two kinds of fault the first says more
    const known = kept.get(issue.path);
    if (known === undefined || known.code === code) kept.set(issue.path, { code, issue });
  };
  for (const issue of error.issues) {
    if (issue.code !== 'unrecognized_keys')
      add(issue.code, { path: pathOf(...issue.path), ...explain(issue, valueAt(input, issue.path)) });
    else
      for (const key of issue.keys)
        add(issue.code, {
          path: pathOf(...issue.path, key),
          message: 'is not a field that is known here',
          remedy: 'Remove the field or correct its spelling.',
        });
  }
  return [...kept.values()].map(({ issue }) => issue);
}
