/** Fitted constants of the planning model: kernel curves, and what whole measured runs add to them. */
import type { CalibrationFile, Effect, ModelKind, Situation } from '../../schema/index.ts';
import type { KernelCurves } from '../kernels/index.ts';
import { resolveParameters, type Context, type Parameters } from './effects.ts';

export interface Band {
  /** Measured ÷ predicted at the 5th and 95th percentile. */
  low: number;
  high: number;
  basis: string;
}

/** Everything that was fitted, for any problem. */
export interface CalibrationSet {
  kernels: KernelCurves;
  parameters: Parameters;
  effects: readonly Effect[];
  evidence: CalibrationFile['evidence'];
  stepTimeBands: CalibrationFile['stepTimeBands'];
  memoryBand: Band | null;
}

/** What holds for one problem. */
export interface Calibration {
  kernels: KernelCurves;
  parameters: Parameters;
  stepTimeBand: Band | null;
  memoryBand: Band | null;
}

/** The engine's view of the two calibration files. */
export function toCalibration(file: CalibrationFile, kernels: KernelCurves): CalibrationSet {
  const { effects, evidence, stepTimeBands, memoryBand } = file;
  const parameters = Object.fromEntries(
    Object.entries(file.parameters).map(([name, parameter]) => [name, parameter.value]),
  ) as Parameters;
  return { kernels, parameters, effects, evidence, stepTimeBands, memoryBand };
}

/** Fewer rows than this leave a stack's effects at their priors. */
const FEWEST_ROWS = 3;

/** How near the evidence is: rows of this stack on this accelerator; rows of the accelerator; none of it. */
export function situationOf({ evidence }: Pick<CalibrationSet, 'evidence'>, context: Context): Situation {
  const rowsWhere = (isLike: (row: CalibrationFile['evidence'][number]) => boolean) =>
    evidence
      .filter((row) => row.accelerator === context.accelerator && isLike(row))
      .reduce((n, row) => n + row.rows, 0);
  if (rowsWhere((row) => row.stack === context.stack && row.kind === context.kind) >= FEWEST_ROWS) return 'covered';
  return rowsWhere(() => true) >= FEWEST_ROWS ? 'new-source' : 'new-accelerator';
}

/** The constants and the interval for one stack, accelerator, precision and kind of model. */
export function calibrationFor(set: CalibrationSet, context: Context): Calibration {
  const situation = situationOf(set, context);
  const kind: ModelKind = context.kind === 'moe' ? 'moe' : 'dense';
  const band = set.stepTimeBands.find((one) => one.situation === situation && one.kind === kind);
  return {
    kernels: set.kernels,
    parameters: resolveParameters(set.parameters, set.effects, context),
    stepTimeBand: band ?? null,
    memoryBand: set.memoryBand,
  };
}
