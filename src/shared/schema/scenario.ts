/** Scenario files (`NAME.trainyard`) and fully resolved scenarios: model + cluster + job + constraints + prices. */
import { z } from 'zod';
import { AppError, inputError } from '../errors.ts';
import { otherFile } from './other-files.ts';
import { searchResultSchema } from './estimate.ts';
import { clusterInputSchema, clusterSchema } from './hardware.ts';
import { constraintsSchema, jobInputSchema, jobSchema, objectives } from './job.ts';
import { modelInputSchema, modelSchema } from './model.ts';
import { planInputSchema } from './plan.ts';
import { issuesOf, shortText } from './primitives.ts';

export const SCENARIO_FORMAT = 'trainyard/scenario';
/** Version of the scenario file that this program writes; older ones are upgraded, newer ones refused. */
export const SCENARIO_VERSION = 1;

const envelope = {
  format: z.literal(SCENARIO_FORMAT),
  version: z.literal(SCENARIO_VERSION),
  name: shortText,
  notes: z.string().max(20_000).default(''),
  constraints: constraintsSchema.prefault({}),
  objective: z.enum(objectives).default('throughput'),
  plan: planInputSchema.nullable().default(null),
  results: searchResultSchema.nullable().default(null),
};

/** A scenario file as people write it: a preset fills what is absent. */
export const scenarioInputSchema = z.strictObject({
  ...envelope,
  model: modelInputSchema,
  cluster: clusterInputSchema,
  job: jobInputSchema,
});
export type ScenarioInput = z.output<typeof scenarioInputSchema>;

/** A scenario with every field present: what is stored, edited and planned. */
export const scenarioSchema = z.strictObject({
  ...envelope,
  model: modelSchema,
  cluster: clusterSchema,
  job: jobSchema,
});
export type Scenario = z.infer<typeof scenarioSchema>;

/**
 * Parses the text of a scenario file.
 * Throws AppError: invalid-json (half-written or another kind of file), wrong-format, newer-version, invalid-field.
 */
export function parseScenarioText(text: string, what = 'scenario file'): ScenarioInput {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError('invalid-json', `${what} is not valid JSON: ${(cause as Error).message}`, {
      remedy: /\b(NaN|Infinity)\b/.test(text)
        ? 'JSON has no NaN or Infinity: write null where a value is unknown.'
        : 'The file may be half-written or damaged; export it again from where it came.',
      cause,
    });
  }
  return parseScenarioValue(value, what);
}

/** As `parseScenarioText`, for a value that is already JSON. */
export function parseScenarioValue(value: unknown, what = 'scenario file'): ScenarioInput {
  const head = z.looseObject({ format: z.unknown().optional(), version: z.unknown().optional() }).safeParse(value);
  const other = head.success && head.data.format === undefined ? otherFile(value) : null;
  if (other !== null)
    throw new AppError('wrong-format', `${what} is ${other.what}, not a Trainyard scenario or a model’s config.json`, {
      path: 'format',
      remedy: other.remedy,
    });
  if (!head.success || head.data.format !== SCENARIO_FORMAT)
    throw new AppError('wrong-format', `${what} is not a Trainyard scenario (no "format": "${SCENARIO_FORMAT}")`, {
      path: 'format',
      remedy: 'Choose a .trainyard file, or export the scenario again.',
    });
  const { version } = head.data;
  if (typeof version === 'number' && version > SCENARIO_VERSION)
    throw new AppError(
      'newer-version',
      `${what} has version ${version}; this Trainyard reads up to version ${SCENARIO_VERSION}`,
      { path: 'version', remedy: 'Update Trainyard, or export the scenario from it in an older version.' },
    );
  const parsed = scenarioInputSchema.safeParse(value);
  if (!parsed.success) throw inputError('invalid-field', what, issuesOf(parsed.error, value));
  return parsed.data;
}
