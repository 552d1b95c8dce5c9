/** The shipped data: accelerators, clusters, models and examples, checked once when the program starts. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { AppError, inputError } from '#shared/errors.ts';
import {
  acceleratorSchema,
  clusterPresetSchema,
  exampleSchema,
  issuesOf,
  modelPresetSchema,
  normalizeId,
  resolveScenario,
  type Catalog,
  type ModelPreset,
} from '#shared/schema/index.ts';

const broken = (file: string, reason: string, cause?: unknown) =>
  new AppError('file-unreadable', `the catalog file ${file} is damaged: ${reason}`, {
    path: file,
    remedy: 'Install Trainyard again, or correct the file.',
    cause,
  });

/** A JSON file of the program itself. Throws AppError that names the file and each fault. */
export function readResource<T>(schema: z.ZodType<T>, file: string): T {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw broken(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw broken(file, inputError('invalid-field', 'fields', issuesOf(parsed.error, value)).message, parsed.error);
}

function readFolder<T>(schema: z.ZodType<T>, dir: string): T[] {
  let names: string[];
  try {
    names = readdirSync(dir).filter((name) => name.endsWith('.json'));
  } catch (cause) {
    throw broken(dir, 'it is missing', cause);
  }
  return names.sort().map((name) => readResource(schema, path.join(dir, name)));
}

function checkNames(what: string, items: readonly { id: string; aliases?: readonly string[] }[]): void {
  const owners = new Map<string, string>();
  for (const { id, aliases = [] } of items) {
    for (const name of new Set([id, ...aliases].map(normalizeId))) {
      const other = owners.get(name);
      if (other !== undefined) throw broken(what, `the name ${name} belongs to ${other} and to ${id}`);
      owners.set(name, id);
    }
  }
}

/** GPT before Llama and small before large: the order in which they are offered. */
function bySize(a: ModelPreset, b: ModelPreset): number {
  const family = a.model.family.localeCompare(b.model.family);
  return family === 0 ? (a.publishedParameters ?? 0) - (b.publishedParameters ?? 0) : family;
}

/** The whole catalog of `resourcesDir`, examples resolved. Throws AppError that names a damaged file. */
export function loadCatalog(resourcesDir: string): Catalog {
  const dir = (name: string) => path.join(resourcesDir, name);
  const accelerators = readFolder(acceleratorSchema, dir('catalog/hardware'));
  const models = readFolder(modelPresetSchema, dir('catalog/models'));
  const clusters = readFolder(clusterPresetSchema, dir('catalog/clusters'));
  checkNames(dir('catalog/hardware'), accelerators);
  checkNames(dir('catalog/models'), models);
  checkNames(dir('catalog/clusters'), clusters);
  const presets = { accelerators, models: models.sort(bySize), clusters };
  const examples = readFolder(exampleSchema, dir('examples')).map((example) => ({
    ...example,
    scenario: resolveScenario(example.scenario, presets),
  }));
  return { ...presets, examples };
}
