/** What ships, as tests need it: read from resources/ once, with the defaults of the schemas filled in. */
import { readdirSync, readFileSync } from 'node:fs';
import {
  acceleratorSchema,
  calibrationFileSchema,
  clusterPresetSchema,
  exampleSchema,
  modelPresetSchema,
  resolveScenario,
  type Accelerator,
  type Model,
  type Presets,
  type Scenario,
} from '../../schema/index.ts';
import { toCalibration, type CalibrationSet } from '../index.ts';

const resources = new URL('../../../../resources/', import.meta.url);

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, resources), 'utf8'));
}

function readFolder<T>(schema: { parse(value: unknown): T }, folder: string): T[] {
  const names = readdirSync(new URL(folder, resources)).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => schema.parse(readJson(`${folder}/${name}`)));
}

export const presets: Presets = {
  accelerators: readFolder(acceleratorSchema, 'catalog/hardware'),
  models: readFolder(modelPresetSchema, 'catalog/models'),
  clusters: readFolder(clusterPresetSchema, 'catalog/clusters'),
};

/** The measured runs of the first release, as `resources/evidence` keeps them. */
export const firstLightText = (): string => readFileSync(new URL('evidence/first-light.json', resources), 'utf8');

type Kernels = Parameters<typeof toCalibration>[1];
export const calibration: CalibrationSet = toCalibration(
  calibrationFileSchema.parse(readJson('calibration/step-time.json')),
  readJson('calibration/kernels.json') as Kernels,
);

function found<T>(item: T | undefined, id: string): T {
  if (item === undefined) throw new Error(`the catalog has no ${id}`);
  return item;
}

export function modelOf(id: string): Model {
  return found(
    presets.models.find((preset) => preset.id === id),
    id,
  ).model;
}

export function acceleratorOf(id: string): Accelerator {
  return found(
    presets.accelerators.find((accelerator) => accelerator.id === id),
    id,
  );
}

/** A ready example, resolved. */
export function exampleOf(id: string): Scenario {
  return resolveScenario(exampleSchema.parse(readJson(`examples/${id}.json`)).scenario, presets);
}

export const exampleIds = ['gpt-1t', 'llama-3.1-405b', 'llama-3.1-8b'] as const;
