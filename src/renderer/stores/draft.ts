/** A scenario while it is edited: a plain immutable JSON value whose fields may hold whatever was typed so far. */
import type { Scenario } from '#shared/schema/index.ts';

import { omit } from './omit.ts';

export type Draft = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a dotted path, e.g. `cluster.scaleUp.domainSize`; undefined where there is none. */
export function valueAt(draft: Draft, path: string): unknown {
  let value: unknown = draft;
  for (const key of path.split('.')) {
    if (!isObject(value)) return undefined;
    value = value[key];
  }
  return value;
}

/** A copy with one value replaced; what is not on the path is shared with the original. */
export function withValue(draft: Draft, path: string, value: unknown): Draft {
  const [key = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...draft, [key]: value };
  const child = draft[key];
  return { ...draft, [key]: withValue(isObject(child) ? child : {}, rest.join('.'), value) };
}

/** Several values replaced, in the order given. */
export function withValues(draft: Draft, values: Readonly<Record<string, unknown>>): Draft {
  return Object.entries(values).reduce((result, [path, value]) => withValue(result, path, value), draft);
}

/** The scenario as a draft: all but its results, which follow from the rest. */
export function draftOf(scenario: Scenario): Draft {
  return omit(scenario, 'results');
}

/** Whether two drafts say the same; both come from JSON, so key order is the only freedom and it is kept. */
export function isSameDraft(a: Draft, b: Draft): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** A bounded line of values to walk back and forth on. Pure: each step gives a new history. */
export interface History<T> {
  readonly past: readonly T[];
  readonly present: T;
  readonly future: readonly T[];
}

const MAX_STEPS = 200;

export function historyOf<T>(present: T): History<T> {
  return { past: [], present, future: [] };
}

/** `merge` replaces the present instead of adding a step: letters typed into one field are one step. */
export function pushed<T>(history: History<T>, value: T, merge = false): History<T> {
  if (merge && history.past.length > 0) return { past: history.past, present: value, future: [] };
  return { past: [...history.past, history.present].slice(-MAX_STEPS), present: value, future: [] };
}

export function undone<T>(history: History<T>): History<T> {
  const present = history.past.at(-1);
  if (present === undefined) return history;
  return { past: history.past.slice(0, -1), present, future: [history.present, ...history.future] };
}

export function redone<T>(history: History<T>): History<T> {
  const [present, ...future] = history.future;
  if (present === undefined) return history;
  return { past: [...history.past, history.present], present, future };
}
