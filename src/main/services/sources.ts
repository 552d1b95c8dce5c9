/** What the command line is given (a file, a preset, a plan as text) as what the planner takes. */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { AppError, inputError } from '#shared/errors.ts';
import { parsePlanArgs, parsePlanValue } from '#shared/formats/plan-args.ts';
import { isPreset, parsePresetKey, presetScenario, PRESET_PREFIX } from '#shared/formats/preset.ts';
import {
  calibrationFileSchema,
  issuesOf,
  type CalibrationFile,
  type PlanInput,
  type Scenario,
} from '#shared/schema/index.ts';
import { readTextFile } from './files.ts';
import type { Planner } from './planner.ts';
import { importScenario } from './transfer.ts';

export interface OpenedScenario {
  scenario: Scenario;
  /** What was taken because it was not said. */
  assumed: string[];
  warnings: string[];
}

/** The scenario of a file or of `preset:MODEL@COUNTxACCELERATOR`. Throws AppError with place and remedy. */
export function openScenario(planner: Planner, source: string): OpenedScenario {
  if (isPreset(source)) return { ...presetScenario(source, planner.catalog), warnings: [] };
  if (!existsSync(source) && parsePresetKey(source) !== null)
    throw new AppError('file-unreadable', `${source} cannot be read: there is no such file`, {
      path: source,
      remedy: `If a preset is meant, write ${PRESET_PREFIX}${source}.`,
    });
  return { ...importScenario(planner, readTextFile(source), source), assumed: [] };
}

/** JSON of a file. Throws AppError file-unreadable or invalid-json. */
export function readJsonFile(file: string): unknown {
  const text = readTextFile(file);
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new AppError('invalid-json', `${file} is not valid JSON: ${cause.message}`, {
      path: file,
      remedy: /\b(NaN|Infinity)\b/.test(text)
        ? 'JSON has no NaN or Infinity: write null where a value is unknown.'
        : 'The file may be half-written or damaged; write it again.',
      cause,
    });
  }
}

/**
 * A plan from `tp=8,pp=64` or from a JSON file that holds a plan, or a scenario with one.
 * Throws AppError that names the field, or says that the text is neither.
 */
export function openPlan(source: string): PlanInput {
  if (!existsSync(source)) {
    if (source.includes('=')) return parsePlanArgs(source);
    throw new AppError('bad-usage', `--plan: "${source}" is neither a file nor KEY=VALUE pairs`, {
      path: '--plan',
      remedy: 'Give the plan as text, e.g. --plan tp=8,pp=2,recompute.mode=full, or name a file with one.',
    });
  }
  const value = readJsonFile(source);
  const holder = z.looseObject({ plan: z.unknown() }).safeParse(value);
  if (!holder.success) return parsePlanValue(value, source);
  if (holder.data.plan !== null) return parsePlanValue(holder.data.plan, `${source}: plan`);
  throw new AppError('invalid-field', `${source} holds no plan: its "plan" is null`, {
    path: 'plan',
    remedy: 'Give the plan as text, e.g. --plan tp=8,pp=2.',
  });
}

/** A calibration from a file. Throws AppError with every fault. */
export function readCalibration(file: string): CalibrationFile {
  const value = readJsonFile(file);
  const parsed = calibrationFileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw inputError('invalid-field', file, issuesOf(parsed.error, value));
}
