/** Scenario files in and out, and model files in. */
import { inFile } from '#shared/errors.ts';
import { parseScenarioText, type Scenario, type SearchResult } from '#shared/schema/index.ts';
import { planKey } from '../jobs/index.ts';
import { isModelFile, scenarioOfModelFile } from './model-files.ts';
import { ENGINE_VERSION, type Planner } from './planner.ts';

/** The text of a scenario file: every field present, so that it means the same whatever catalog reads it. */
export function scenarioFileText(scenario: Scenario, withResults: boolean): string {
  return `${JSON.stringify(withResults ? scenario : { ...scenario, results: null }, null, 2)}\n`;
}

/** A file name made of a scenario's name; never empty, never a path. */
export function scenarioFileName(name: string): string {
  const words = name.normalize('NFC').toLowerCase();
  const slug = words.replaceAll(/[^\p{L}\p{M}\p{N}.]+/gu, '-').replaceAll(/^[-.]+|[-.]+$/g, '');
  return `${Array.from(slug).slice(0, 60).join('') || 'scenario'}.trainyard`;
}

/** Why results that came with a file are not what this program would find; null where they are. */
function faultOfResults(planner: Planner, scenario: Scenario, results: SearchResult): string | null {
  if (results.engineVersion !== ENGINE_VERSION)
    return `they were computed by version ${results.engineVersion} of the planning model, this is ${ENGINE_VERSION}`;
  const [first] = results.best;
  if (first === undefined) return null;
  const { estimate, plan } = planner.evaluate(scenario, first.plan);
  const isSame =
    estimate !== null && planKey(plan) === first.key && Math.abs(estimate.stepSeconds / first.stepSeconds - 1) < 1e-9;
  return isSame ? null : 'they do not belong to this model, cluster and job';
}

export interface ImportedScenario {
  scenario: Scenario;
  /** What was left out, and why. */
  warnings: string[];
}

/**
 * A scenario from the text of a file: a scenario file, or the config.json of a model. Its results are kept only where this program would find the same.
 * Throws AppError that names the field or the fault of the file.
 */
export function importScenario(planner: Planner, text: string, fileName: string): ImportedScenario {
  if (isModelFile(text)) {
    const { scenario, assumed, warnings } = scenarioOfModelFile(planner, text, fileName);
    return { scenario, warnings: [...warnings, ...assumed.map((what) => `Assumed: ${what}.`)] };
  }
  const scenario = inFile(fileName, () => planner.resolve(parseScenarioText(text, fileName)));
  if (scenario.results === null) return { scenario, warnings: [] };
  const fault = faultOfResults(planner, scenario, scenario.results);
  if (fault === null) return { scenario, warnings: [] };
  return { scenario: { ...scenario, results: null }, warnings: [`The results in ${fileName} are left out: ${fault}.`] };
}
