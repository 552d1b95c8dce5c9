/** What ships as data: accelerators, models, clusters, examples and the last calibration. */
import { z } from 'zod';
import { acceleratorSchema, clusterPresetSchema } from './hardware.ts';
import { modelSchema } from './model.ts';
import { scenarioInputSchema, scenarioSchema } from './scenario.ts';
import { shortText } from './primitives.ts';

/** A model of resources/catalog/models: our terms, its parameter count as published, and its source. */
export const modelPresetSchema = z.strictObject({
  format: z.literal('trainyard/model'),
  version: z.literal(1),
  id: z.string().regex(/^[a-z0-9.-]+$/),
  aliases: z.array(z.string()).default([]),
  source: z.string(),
  date: z.string(),
  /** Parameters as counted by the source; a test compares them with our own count. */
  publishedParameters: z.number().nullable(),
  model: modelSchema,
});
export type ModelPreset = z.infer<typeof modelPresetSchema>;

/** A ready example of resources/examples: a scenario file with the words that introduce it. */
export const exampleSchema = z.strictObject({
  id: z.string(),
  title: shortText,
  description: z.string(),
  /** `MODEL@COUNTxACCELERATOR` as the command line takes it after `preset:`. */
  presetKey: z.string(),
  source: z.string(),
  /** What the example's own plan is called beside the found ones, e.g. "published split". */
  planLabel: z.string().nullable(),
  scenario: scenarioInputSchema,
});
export type Example = z.infer<typeof exampleSchema>;

export const catalogSchema = z.strictObject({
  accelerators: z.array(acceleratorSchema),
  models: z.array(modelPresetSchema),
  clusters: z.array(clusterPresetSchema),
  examples: z.array(exampleSchema.omit({ scenario: true }).extend({ scenario: scenarioSchema })),
});
/** The catalog as the doors see it: examples are fully resolved. */
export type Catalog = z.infer<typeof catalogSchema>;

/** Just what resolving a scenario needs. */
export type Presets = Pick<Catalog, 'accelerators' | 'models' | 'clusters'>;
