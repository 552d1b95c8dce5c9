/** Model files of other programs: a Hugging Face config.json becomes a scenario, or a report of what it says. */
import { isHfConfig, parseConfigText, readHfConfig, type HfReading } from '#shared/formats/hf-config/index.ts';
import { modelScenario } from '#shared/formats/preset.ts';
import type { Model, Scenario } from '#shared/schema/index.ts';
import { parameterCounts } from '../jobs/index.ts';
import type { Planner } from './planner.ts';

/** The answer of `import` for a model file (docs/FORMATS.md §5). */
export interface ModelReport {
  kind: 'hf-config';
  name: string;
  model: Model;
  parameters: {
    total: number;
    /** As tables count that go by tensor names; see `conventions`. */
    active: number;
    /** Everything one token passes: attention, router, shared experts, K routed experts, embeddings, head. */
    activePerToken: number;
    conventions: { total: string; active: string };
  };
  provenance: Record<string, string>;
  assumed: string[];
  missing: string[];
  warnings: string[];
}

/** Whether a file's text is a Hugging Face configuration; false for anything that is no JSON object. */
export function isModelFile(text: string): boolean {
  try {
    return isHfConfig(parseConfigText(text));
  } catch {
    return false;
  }
}

const conventions = {
  total:
    'unique parameters; tied embeddings once, multi-token prediction left out, biases that no gradient trains left out',
  active:
    'of all expert tensors the share of the experts per token; in classes that name their shared experts among the ' +
    'experts, their down-projection too',
} as const;

function countsOf({ model, sharedCountAsRouted }: HfReading): ModelReport['parameters'] {
  const { total, active, activeByName } = parameterCounts(model, sharedCountAsRouted);
  return { total, active: activeByName, activePerToken: active, conventions };
}

/** What a model file says. Throws AppError that names the key. */
export function reportModelFile(text: string, fileName: string): ModelReport {
  const reading = readHfConfig(text, fileName);
  const provenance = Object.fromEntries(
    Object.keys(reading.model).map((field) => [`model.${field}`, `file, ${reading.family} class`]),
  );
  return {
    kind: 'hf-config',
    name: reading.model.name,
    model: reading.model,
    parameters: countsOf(reading),
    provenance,
    assumed: reading.assumed,
    missing: ['cluster', 'job'],
    warnings: reading.warnings,
  };
}

/** A scenario round the model of a file. Throws AppError that names the key. */
export function scenarioOfModelFile(
  planner: Planner,
  text: string,
  fileName: string,
): { scenario: Scenario; assumed: string[]; warnings: string[] } {
  const reading = readHfConfig(text, fileName);
  const { scenario, assumed } = modelScenario(reading.model, countsOf(reading).total, planner.catalog);
  return { scenario, assumed: [...reading.assumed, ...assumed], warnings: reading.warnings };
}
