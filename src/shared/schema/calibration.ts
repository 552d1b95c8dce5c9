/** The file that the last fit produced (resources/calibration/step-time.json): parameters, and the error they reached. */
import { z } from 'zod';
import { fraction, nonNegative } from './primitives.ts';

/** A fitted constant with its prior, bounds, unit and the data that set it. */
export const parameterSchema = z.strictObject({
  value: z.number(),
  unit: z.string(),
  prior: z.number(),
  low: z.number(),
  high: z.number(),
  meaning: z.string(),
  source: z.string(),
});

export const parameterNames = [
  'matmulSlowdown',
  'attentionSlowdown',
  'memoryEfficiency',
  'scaleUpEfficiency',
  'scaleOutEfficiency',
  'layerOverheadSeconds',
  'stepOverheadSeconds',
  'optimizerEfficiency',
] as const;
export type ParameterName = (typeof parameterNames)[number];

/** 90 % band of predicted against measured, as ratios measured ÷ predicted, and where it was taken. */
const band = z.strictObject({ low: nonNegative, high: nonNegative, rows: z.int(), basis: z.string() });

export const calibrationFileSchema = z.strictObject({
  format: z.literal('trainyard/calibration'),
  version: z.literal(1),
  date: z.string(),
  description: z.string(),
  parameters: z.record(z.enum(parameterNames), parameterSchema),
  error: z.strictObject({
    /** Mean absolute percentage error of step time over the rows named in `basis`. */
    inSample: z.strictObject({ rows: z.int(), mape: fraction }),
    heldOut: z.strictObject({ rows: z.int(), mape: fraction, medianApe: fraction, folds: z.string() }),
  }),
  stepTimeBand: band.nullable(),
  memoryBand: band.nullable(),
});
export type CalibrationFile = z.infer<typeof calibrationFileSchema>;
