/** Fitted constants of the planning model: kernel curves, and what whole measured runs add to them. */
import type { CalibrationFile, ParameterName } from '../../schema/index.ts';
import type { KernelCurves } from '../kernels/index.ts';

export interface Band {
  /** Measured ÷ predicted at the 5th and 95th percentile. */
  low: number;
  high: number;
  basis: string;
}

export interface Calibration {
  kernels: KernelCurves;
  parameters: Record<ParameterName, number>;
  stepTimeBand: Band | null;
  memoryBand: Band | null;
}

/** The engine's view of the two calibration files. */
export function toCalibration(file: CalibrationFile, kernels: KernelCurves): Calibration {
  const parameters = Object.fromEntries(
    Object.entries(file.parameters).map(([name, parameter]) => [name, parameter.value]),
  ) as Record<ParameterName, number>;
  return { kernels, parameters, stepTimeBand: file.stepTimeBand, memoryBand: file.memoryBand };
}
