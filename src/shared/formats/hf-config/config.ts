/**
 * A Hugging Face config.json as it is found: Python's `Infinity` and `NaN`, nested language models, several names for one
 * thing. Reading a field under all its names warns where two of them disagree.
 */
import { AppError } from '../../errors.ts';
import { absentDefaults } from './class-defaults.ts';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON with Python's bare `Infinity`, `-Infinity` and `NaN` (as null). Throws AppError invalid-json / wrong-format. */
export function parseConfigText(text: string, what = 'config.json'): Json {
  // outside strings only: a match of a whole string is put back as it was
  const plain = text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (found) =>
    found.startsWith('"') ? found : 'null',
  );
  let value: unknown;
  try {
    value = JSON.parse(plain);
  } catch (cause) {
    throw new AppError('invalid-json', `${what} is not valid JSON: ${(cause as Error).message}`, {
      remedy: 'The file may be half-written or damaged.',
      cause,
    });
  }
  if (!isObject(value))
    throw new AppError('wrong-format', `${what} is not a Hugging Face configuration`, {
      remedy: 'Give the config.json of a model: an object with model_type or architectures.',
    });
  return value;
}

/** Where multimodal models keep their language model. */
const nestedPaths = [
  ['thinker_config', 'text_config'],
  ['text_config'],
  ['llm_config'],
  ['language_config'],
  ['language_model_config'],
] as const;

/** Reads the fields of one configuration. */
export class ConfigReader {
  readonly root: Json;
  /** The language model's own fields, over those of the file. */
  readonly text: Json;
  /** Whether the language model's fields stand inside those of a multimodal model. */
  readonly isNested: boolean;
  readonly warnings: string[] = [];
  readonly assumed: string[] = [];
  /** What the class takes where the file is silent. */
  readonly #defaults: Json;

  constructor(root: Json) {
    this.root = root;
    const nested = nestedPaths
      .map((path) => path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root))
      .find(isObject);
    const own = nested ?? root;
    this.#defaults = absentDefaults(this.#architectureOf(own), own);
    this.text = { ...this.#defaults, ...own };
    this.isNested = nested !== undefined;
  }

  #architectureOf(text: Json): string {
    const architectures = text.architectures ?? this.root.architectures;
    const first: unknown = Array.isArray(architectures) ? architectures[0] : undefined;
    return typeof first === 'string' ? first : '';
  }

  /** Adds a warning once. */
  warn(text: string): void {
    if (!this.warnings.includes(text)) this.warnings.push(text);
  }

  /** `model_type` of the language model, and the class that loads the file. */
  get names(): { modelType: string; architecture: string } {
    const type = this.text.model_type ?? this.root.model_type;
    return {
      modelType: typeof type === 'string' ? type : '',
      architecture: this.#architectureOf(this.text),
    };
  }

  /** The value under the first of the names (dotted) that has one; warns where another of them differs. */
  any(...names: string[]): unknown {
    const found = names.flatMap((name) => {
      const value = name.split('.').reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), this.text);
      return value === undefined || value === null ? [] : [{ name, value }];
    });
    const [first, ...others] = found;
    if (first !== undefined && Object.hasOwn(this.#defaults, first.name)) this.#assume(first.name, first.value);
    const differing = others.find(({ value }) => typeof value === 'number' && value !== first?.value);
    if (first !== undefined && differing !== undefined)
      this.warn(
        `${first.name} is ${JSON.stringify(first.value)} but ${differing.name} is ${JSON.stringify(differing.value)}: the first is taken`,
      );
    return first?.value;
  }

  number(...names: string[]): number | null {
    const value = this.any(...names);
    const number = Array.isArray(value) ? Number(value[0]) : Number(value);
    return value === undefined || typeof value === 'boolean' || !Number.isFinite(number) ? null : number;
  }

  /** A number that the file must have. Throws AppError invalid-field that names it. */
  need(what: string, ...names: string[]): number {
    const value = this.number(...names);
    if (value !== null && Number.isInteger(value) && value > 0) return value;
    const found = value === null ? 'is missing' : `must be a whole number above 0, found ${value}`;
    throw new AppError('invalid-field', `${names[0] ?? what}: the ${what} ${found}`, {
      path: names[0] ?? what,
      remedy: `Give ${names.length > 1 ? `one of ${names.join(', ')}` : (names[0] ?? what)}.`,
    });
  }

  /** A number or what the model's class takes where the file has none; the assumption is told. */
  orDefault(fallback: number, ...names: string[]): number {
    const value = this.number(...names);
    if (value !== null) return value;
    this.#assume(names[0] ?? '', fallback);
    return fallback;
  }

  #assume(name: string, value: unknown): void {
    const text = `${name}: ${JSON.stringify(value)} (the class's default)`;
    if (!this.assumed.includes(text)) this.assumed.push(text);
  }

  flag(fallback: boolean, ...names: string[]): boolean {
    const value = this.any(...names);
    return typeof value === 'boolean' ? value : fallback;
  }

  list(...names: string[]): unknown[] | null {
    const value = this.any(...names);
    return Array.isArray(value) ? value : null;
  }

  string(...names: string[]): string | null {
    const value = this.any(...names);
    return typeof value === 'string' ? value : null;
  }

  object(name: string): Json | null {
    const value = this.text[name] ?? this.root[name];
    return isObject(value) ? value : null;
  }

  has(...names: string[]): boolean {
    return names.some((name) => this.text[name] !== undefined && this.text[name] !== null);
  }
}
