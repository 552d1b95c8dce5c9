/** A problem to predict memory of, without the rules that guard plans for people. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { toCalibration, toProblem, type Problem } from '../../src/shared/engine/index.ts';
import type { KernelCurves } from '../../src/shared/engine/kernels/index.ts';
import {
  acceleratorSchema,
  calibrationFileSchema,
  clusterDefaults,
  constraintsSchema,
  jobSchema,
  modelSchema,
  normalizeId,
  type JobInput,
  type ModelInput,
} from '../../src/shared/schema/index.ts';

const root = path.resolve(import.meta.dirname, '../..');
const readJson = (file: string): unknown => JSON.parse(readFileSync(path.join(root, file), 'utf8'));
const hardware = 'resources/catalog/hardware';
export const accelerators = readdirSync(path.join(root, hardware)).map((name) =>
  acceleratorSchema.parse(readJson(`${hardware}/${name}`)),
);
const calibration = toCalibration(
  calibrationFileSchema.parse(readJson('resources/calibration/step-time.json')),
  readJson('resources/calibration/kernels.json') as KernelCurves,
);

export function acceleratorOf(name: string) {
  const wanted = normalizeId(name);
  const spelled = accelerators.find(({ id, aliases }) => [id, ...aliases].some((one) => normalizeId(one) === wanted));
  const family = /^[a-z]*\d+[a-z]*/.exec(wanted)?.[0] ?? wanted;
  return (
    spelled ??
    accelerators.find(({ id }) => id.startsWith(family)) ??
    accelerators.find(({ id }) => id === 'h100-80gb-sxm')
  );
}

export interface ProblemParts {
  model: ModelInput;
  numAccelerators: number;
  job: JobInput;
}

export function problemOf(hardwareName: string, { model, numAccelerators, job }: ProblemParts): Problem {
  const accelerator = acceleratorOf(hardwareName);
  if (accelerator === undefined) throw new Error(`no accelerator is called ${hardwareName}`);
  const pattern = typeof model.layerPattern === 'string' ? model.layerPattern : null;
  const numLayers = pattern === null ? model.numLayers : (pattern.split('/')[0] ?? '').replaceAll('|', '').length;
  return toProblem(
    {
      format: 'trainyard/scenario',
      version: 1,
      name: 'measured',
      notes: '',
      model: modelSchema.parse({ ...model, numLayers }),
      cluster: { ...clusterDefaults(accelerator), numAccelerators },
      job: jobSchema.parse(job),
      constraints: constraintsSchema.parse({}),
      objective: 'throughput',
      plan: null,
      results: null,
    },
    accelerator,
    calibration,
  );
}
