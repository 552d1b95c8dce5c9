/** Fits the planning model's constants to measured runs and writes what the program reads. */
import type { CalibrationSet } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { parameterNames, type CalibrationFile, type Presets, type Run } from '#shared/schema/index.ts';
import { calibrate, type CrossValidation, type FoldKind } from '../../jobs/index.ts';
import { measuredCases, type CaseReading } from './cases.ts';

export { measuredCases } from './cases.ts';

/** The answer of `calibrate`: the file to write, what it rests on, and what was left out. */
export interface CalibrationReport {
  file: CalibrationFile;
  validation: CrossValidation;
  left: CaseReading['left'];
}

interface Inputs {
  presets: Presets;
  /** Kernel curves, priors and bounds come from the calibration in force. */
  calibration: CalibrationSet;
  previous: CalibrationFile;
  date: string;
  rowsGiven?: number;
  onStage?: (stage: FoldKind) => void;
}

const FEWEST_SOURCES = 2;

/** Fits and cross-validates. Throws AppError where fewer than two sources can be predicted. */
export function calibrateRuns(runs: readonly Run[], inputs: Inputs): CalibrationReport {
  const { presets, calibration, previous, date, ...options } = inputs;
  const { cases, left } = measuredCases(runs, presets, calibration);
  const sources = new Set(cases.map(({ source }) => source));
  if (sources.size < FEWEST_SOURCES)
    throw new AppError(
      'not-enough-runs',
      `${cases.length} of ${runs.length} runs can be predicted, of ${sources.size} sources`,
      {
        path: 'rows',
        remedy: 'Give runs of at least two sources with step time and split; "validate" says why a row is skipped.',
      },
    );
  const validation = calibrate(cases, previous.parameters, options);
  const source = `${cases.length} measured runs of ${sources.size} sources`;
  const parameters = Object.fromEntries(
    parameterNames.map((name) => [name, { ...previous.parameters[name], value: validation.parameters[name], source }]),
  ) as CalibrationFile['parameters'];
  const { effects, evidence, errors, stepTimeBands } = validation;
  const file: CalibrationFile = {
    format: 'trainyard/calibration',
    version: 2,
    date,
    description:
      'Constants that measured kernels do not fix, and how stacks differ from them, fitted by robust least squares with ' +
      'priors to whole runs; regenerate with "trainyard calibrate".',
    parameters,
    effects,
    evidence,
    errors,
    stepTimeBands,
    memoryBand: previous.memoryBand,
  };
  return { file, validation, left };
}
