/** Building blocks of the schemas, with messages that say what was expected, and the bridge from zod to our issues. */
import { z } from 'zod';
import type { Issue } from '../errors.ts';

z.config({ jitless: true }); // the pages' Content-Security-Policy forbids eval

/** A whole number of things, at least one. */
export const count = z.int().min(1);
/** A whole number of things, possibly none. */
export const countOrZero = z.int().min(0);
/** A finite number above zero. */
export const positive = z.number().positive();
/** A finite number, zero or above. */
export const nonNegative = z.number().nonnegative();
/** A share between 0 and 1. */
export const fraction = z.number().min(0).max(1);
/** A short human name. */
export const shortText = z.string().trim().min(1).max(200);

/** Degrees and sizes above these are taken for slips of the hand; they also keep all sums exact in a double. */
export const MAX_ACCELERATORS = 4_194_304;

type ZodIssue = z.core.$ZodIssue;

function found(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number') return String(value);
  const text = JSON.stringify(value);
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

function explain(issue: ZodIssue, value: unknown): { message: string; remedy: string } {
  const got = `found ${found(value)}`;
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? { message: 'is missing', remedy: `Give a ${issue.expected}.` }
        : { message: `expected a ${issue.expected}, ${got}`, remedy: `Give a ${issue.expected}.` };
    case 'too_small': {
      const least = `${issue.inclusive === false ? 'above' : 'at least'} ${String(issue.minimum)}`;
      return { message: `must be ${least}, ${got}`, remedy: `Give a value ${least}.` };
    }
    case 'too_big': {
      const most = `${issue.inclusive === false ? 'below' : 'at most'} ${String(issue.maximum)}`;
      return { message: `must be ${most}, ${got}`, remedy: `Give a value ${most}.` };
    }
    case 'invalid_value': {
      const allowed = issue.values.map(String).join(', ');
      return { message: `must be one of ${allowed}; ${got}`, remedy: `Use one of: ${allowed}.` };
    }
    case 'unrecognized_keys':
      return {
        message: `unknown field${issue.keys.length > 1 ? 's' : ''} ${issue.keys.join(', ')}`,
        remedy: 'Remove the field or correct its spelling.',
      };
    default:
      return { message: `${issue.message}, ${got}`, remedy: 'Correct the value.' };
  }
}

/** Our issues (dotted path, message, remedy) for a failed parse of `input`. */
export function issuesOf(error: z.ZodError, input: unknown, root = ''): Issue[] {
  return error.issues.map((issue) => {
    const path = [root, ...issue.path.map(String)].filter((part) => part !== '').join('.');
    return { path, ...explain(issue, valueAt(input, issue.path)) };
  });
}
