/**
 * Plans and choices as people type them: `tp=8,pp=64,recompute.mode=full`. Keys are the dotted paths of the plan schema;
 * a last part that only one path has (`zeroStage`) and a few usual short forms (`mbs`) will do, too.
 */
import { z } from 'zod';
import { AppError, type ErrorCode } from '../errors.ts';
import { issuesOf, planInputSchema, planSchema, type Constraints, type Plan, type PlanInput } from '../schema/index.ts';
import { closest } from '../closest.ts';

export type Choices = Constraints['pin'];
type Choice = Choices[string][number];

/** How faults are told: as of a command line, or as of a field of a file. */
interface Place {
  code: ErrorCode;
  /** What the text was given as, e.g. `--plan` or `constraints.pin`. */
  name: string;
}

function leavesOf(schema: z.ZodObject, prefix = ''): [string, z.ZodType][] {
  return Object.entries(schema.shape).flatMap(([key, part]): [string, z.ZodType][] => {
    const path = `${prefix}${key}`;
    return part instanceof z.ZodObject ? leavesOf(part, `${path}.`) : [[path, part as z.ZodType]];
  });
}

const groupSize = 'sharding.group.size'; // the one leaf that stands inside a union
const leaves = new Map<string, z.ZodType>([...leavesOf(planSchema), [groupSize, z.int().min(1)]]);

/** Every dotted path of a plan, in the order of the contract. */
export const planPaths: readonly string[] = [...leaves.keys()];

const shortForms: Readonly<Record<string, string>> = {
  mbs: 'microBatchSize',
  sp: 'sequenceParallel',
  vp: 'vpp',
  zero: 'sharding.zeroStage',
  recompute: 'recompute.mode',
  schedule: 'schedule.name',
};

const plain = (key: string) => key.toLowerCase().replaceAll(/[_-]/g, '');

/** The plan path that a key means, or null where it means none or several. */
function pathOf(key: string): string | null {
  const wanted = plain(key);
  const exact = planPaths.find((path) => plain(path) === wanted);
  if (exact !== undefined) return exact;
  if (Object.hasOwn(shortForms, wanted)) return shortForms[wanted] ?? null;
  const ending = planPaths.filter((path) => plain(path).endsWith(`.${wanted}`));
  return ending.length === 1 ? (ending[0] ?? null) : null;
}

function knownPath(key: string, place: Place): string {
  const path = pathOf(key);
  if (path !== null) return path;
  const near = closest(key, planPaths);
  throw new AppError(place.code, `${place.name}: there is no plan field "${key}"`, {
    path: key,
    remedy: `${near === null ? '' : `Did you mean ${near}? `}The fields are ${planPaths.join(', ')}.`,
  });
}

function readings(text: string): unknown[] {
  const values: unknown[] = [];
  if (/^[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) values.push(Number(text.replaceAll('_', '')));
  const word = { true: true, yes: true, on: true, false: false, no: false, off: false }[text.toLowerCase()];
  if (word !== undefined) values.push(word);
  if (text.toLowerCase() === 'null') values.push(null);
  values.push(text);
  return values;
}

/** The first reading of `text` that the field takes; else its faults, told for the number or the text that was given. */
function valueAt(path: string, text: string, place: Place): unknown {
  const schema = leaves.get(path) ?? z.unknown();
  const isList = schema instanceof z.ZodArray;
  const inner = /^\[(.*)\]$/.exec(text)?.[1];
  const parts = inner === undefined ? [text] : inner === '' ? [] : inner.split('|');
  const candidates = isList ? [parts] : readings(text);
  for (const candidate of candidates) {
    const parsed = schema.safeParse(candidate);
    if (parsed.success) return parsed.data;
  }
  const given = isList || typeof candidates[0] === 'number' ? candidates[0] : text;
  throw badValue(path, schema, given, place);
}

function badValue(path: string, schema: z.ZodType, value: unknown, place: Place): AppError {
  const parsed = schema.safeParse(value);
  const [issue] = parsed.success ? [] : issuesOf(parsed.error, value);
  return new AppError(place.code, `${place.name}: ${path} ${issue?.message ?? 'has a wrong value'}`, {
    path,
    remedy: issue?.remedy ?? 'Correct the value.',
  });
}

/** `a=1,b=2,3` as [['a', ['1']], ['b', ['2', '3']]]: a part without `=` is one more value of the key before it. */
function pairsOf(text: string, place: Place): [string, string[]][] {
  const pairs: [string, string[]][] = [];
  for (const part of text.split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const last = pairs.at(-1);
    if (equals > 0) pairs.push([part.slice(0, equals).trim(), [part.slice(equals + 1).trim()]]);
    else if (equals < 0 && last !== undefined) last[1].push(part);
    else
      throw new AppError(place.code, `${place.name}: expected KEY=VALUE, found "${part}"`, {
        path: place.name,
        remedy: 'Write for example tp=8,pp=64,recompute.mode=full.',
      });
  }
  return pairs;
}

type Nested = Record<string, unknown>;

function put(plan: Nested, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? path;
  let place = plan;
  for (const key of keys) {
    const next = place[key];
    const inner: Nested = typeof next === 'object' && next !== null ? { ...next } : {};
    place[key] = inner;
    place = inner;
  }
  place[last] = value;
}

/**
 * A plan from its text form. What is not given is left out: the engine fills in the framework's defaults.
 * Lists: `recompute.modules=[core-attention|mlp]` or `recompute.modules=core-attention,mlp`.
 * Throws AppError bad-usage that names the field and says which are legal.
 */
export function parsePlanArgs(text: string, name = '--plan'): PlanInput {
  const place: Place = { code: 'bad-usage', name };
  const plan: Nested = {};
  const seen = new Map<string, string>();
  for (const [key, values] of pairsOf(text, place)) {
    const path = knownPath(key, place);
    const value = values.length === 1 ? (values[0] ?? '') : `[${values.join('|')}]`;
    if (seen.has(path) && seen.get(path) !== value)
      throw new AppError(place.code, `${name}: ${path} is given twice, as ${seen.get(path) ?? ''} and ${value}`, {
        path,
        remedy: 'Give each field once.',
      });
    seen.set(path, value);
    put(plan, path, valueAt(path, value, place));
  }
  return parsePlanValue(plan, name);
}

/** A plan from JSON. Throws AppError invalid-field with every fault. */
export function parsePlanValue(value: unknown, name = 'plan'): PlanInput {
  const parsed = planInputSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error, value);
  const [first] = issues;
  throw new AppError('invalid-field', `${name}: ${issues.map((i) => `${i.path} ${i.message}`).join('; ')}`, {
    path: first?.path ?? name,
    remedy: first?.remedy ?? 'Correct the value.',
    issues,
  });
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? `[${value.join('|')}]` : String(value);
}

/**
 * A plan as arguments: its split, and every other field that is not what `complete` (the engine's completion of a
 * partial plan) would take by itself. `parsePlanArgs` and `complete` give the same plan again.
 */
export function formatPlanArgs(plan: Plan, complete: (input: PlanInput) => Plan): string {
  const { tp, pp, vpp, microBatchSize, recompute } = plan;
  const split = { tp, pp, ...(vpp > 1 ? { vpp } : {}), microBatchSize };
  const defaults = complete({ ...split, recompute: { mode: recompute.mode } });
  const parts = Object.entries(split).map(([key, value]) => `${key}=${value}`);
  parts.push(`recompute.mode=${recompute.mode}`);
  for (const path of planPaths) {
    const [value, usual] = [valueIn(plan, path), valueIn(defaults, path)];
    if (value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value))) continue;
    if (textOf(value) !== textOf(usual)) parts.push(`${path}=${textOf(value)}`);
  }
  return parts.join(',');
}

function valueIn(root: unknown, path: string): unknown {
  let value = root;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return value;
}

function asChoice(path: string, text: string, place: Place): Choice {
  if (leaves.get(path) instanceof z.ZodArray)
    throw new AppError(place.code, `${place.name}: ${path} is a list and cannot be chosen by value`, {
      path,
      remedy: 'Pin or exclude another field, e.g. recompute.mode.',
    });
  const value = valueAt(path, text, place);
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
  throw new AppError(place.code, `${place.name}: ${path} cannot be ${text} here`, {
    path,
    remedy: 'Give a number, a word, true or false.',
  });
}

/** `--pin tp=4,8 --pin recompute.mode=full` as allowed values per plan path. Throws AppError bad-usage. */
export function parseChoices(texts: readonly string[], name = '--pin'): Choices {
  const place: Place = { code: 'bad-usage', name };
  const choices: Choices = {};
  for (const [key, values] of texts.flatMap((text) => pairsOf(text, place))) {
    const path = knownPath(key, place);
    const parts = values.flatMap((value) => /^\[(.*)\]$/.exec(value)?.[1]?.split('|') ?? [value]);
    choices[path] = [...new Set([...(choices[path] ?? []), ...parts.map((part) => asChoice(path, part, place))])];
  }
  return choices;
}

/**
 * Choices of a scenario file with full paths and checked values. Throws AppError invalid-field that names the field,
 * e.g. `constraints.pin.tp`.
 */
export function checkChoices(choices: Choices, name: string): Choices {
  const checked: Choices = {};
  for (const [key, values] of Object.entries(choices)) {
    const path = knownPath(key, { code: 'invalid-field', name });
    const place: Place = { code: 'invalid-field', name: `${name}.${key}` };
    if (checked[path] !== undefined)
      throw new AppError('invalid-field', `${place.name}: the field ${path} is named twice`, {
        path: place.name,
        remedy: 'Name each field once, with all of its values.',
      });
    checked[path] = values.map((value) => asChoice(path, String(value), place));
  }
  return checked;
}
