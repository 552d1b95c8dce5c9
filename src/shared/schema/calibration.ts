/** The file that the last fit produced (resources/calibration/step-time.json): parameters, and the error they reached. */
import { z } from 'zod';
import { fraction, nonNegative, positive } from './primitives.ts';

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
  'hostLaunchSeconds',
  'stepOverheadSeconds',
  'optimizerEfficiency',
] as const;
export type ParameterName = (typeof parameterNames)[number];

/** What an effect multiplies: a parameter, or the time of all kernels of a layer together. */
export const calibratedQuantities = ['compute', ...parameterNames] as const;
export type CalibratedQuantity = (typeof calibratedQuantities)[number];

/** What tells stacks apart: framework and age, accelerator, precision of the matmuls, dense or with experts. */
export const scopeKeys = ['stack', 'accelerator', 'precision', 'kind'] as const;
export type ScopeKey = (typeof scopeKeys)[number];

const scopeSchema = z.partialRecord(z.enum(scopeKeys), z.string());
export type Scope = z.infer<typeof scopeSchema>;

/** A fitted factor on a quantity that holds in a scope; `deviation` is its prior's, in ln. */
export const effectSchema = z.strictObject({
  quantity: z.enum(calibratedQuantities),
  scope: scopeSchema,
  factor: positive,
  deviation: positive,
  /** Rows of the fit that lie in the scope. */
  rows: z.int(),
});
export type Effect = z.infer<typeof effectSchema>;

/** How much of the evidence is like a plan: its stack on its accelerator; its accelerator only; neither. */
export const situations = ['covered', 'new-source', 'new-accelerator'] as const;
export type Situation = (typeof situations)[number];

/** 90 % band of measured ÷ predicted, and where it was taken. */
const bandSchema = z.strictObject({ low: nonNegative, high: nonNegative, rows: z.int(), basis: z.string() });

/** Dense models, or such with experts: their errors differ too much to be stated together. */
export const modelKinds = ['dense', 'moe'] as const;
export type ModelKind = (typeof modelKinds)[number];

/** Error on rows that the constants were not fitted to. Fractions; `coverage` is the share inside the 90 % band of others. */
export const situationErrorSchema = z.strictObject({
  situation: z.enum([...situations, 'few-rows-given']),
  kind: z.enum(modelKinds),
  rows: z.int(),
  mape: nonNegative,
  medianApe: nonNegative,
  p90Ape: nonNegative,
  bias: z.number(),
  coverage: fraction.nullable(),
  folds: z.string(),
});
export type SituationError = z.infer<typeof situationErrorSchema>;

export const calibrationFileSchema = z.strictObject({
  format: z.literal('trainyard/calibration'),
  version: z.literal(2),
  date: z.string(),
  description: z.string(),
  /** Constants that hold where no effect does. */
  parameters: z.record(z.enum(parameterNames), parameterSchema),
  effects: z.array(effectSchema),
  /** How many rows of the fit each stack has on each accelerator. */
  evidence: z.array(
    z.strictObject({ stack: z.string(), accelerator: z.string(), kind: z.enum(modelKinds), rows: z.int() }),
  ),
  errors: z.array(situationErrorSchema),
  stepTimeBands: z.array(
    z.strictObject({ situation: z.enum(situations), kind: z.enum(modelKinds), ...bandSchema.shape }),
  ),
  memoryBand: bandSchema.nullable(),
});
export type CalibrationFile = z.infer<typeof calibrationFileSchema>;
