/**
 * Every call, job and event of the app: the only thing that the window, the browser door, the command line and the
 * pages share. A call answers now; a job has an id that the caller chooses (its first events may arrive before the
 * reply does), reports progress, can be cancelled and ends in exactly one of done, cancelled or failed.
 */
import { z } from 'zod';
import type { Reply } from './errors.ts';
import {
  catalogSchema,
  estimateSchema,
  evidenceDetailSchema,
  evidenceRowSchema,
  figureLineSchema,
  figureSchema,
  fixSchema,
  logComparisonSchema,
  nearestEvidenceSchema,
  planInputSchema,
  planSchema,
  planSummarySchema,
  scenarioSchema,
  searchResultSchema,
  shortText,
  timelineSchema,
  verdicts,
  violationSchema,
} from './schema/index.ts';

const id = z.string().min(1).max(100);
/** Grows by one with each saved change; an update that names an older one is a conflict. */
const revision = z.int().min(1);

/** A stored scenario with its last results (inside `scenario.results`). */
export const scenarioRecordSchema = z.strictObject({
  id,
  revision,
  createdAt: z.string(),
  updatedAt: z.string(),
  /** The example it was made from; null for the user's own. */
  exampleId: z.string().nullable(),
  scenario: scenarioSchema,
});
export type ScenarioRecord = z.infer<typeof scenarioRecordSchema>;

/** What an import stored, and what of the file it left out, in sentences. */
export const importedRecordSchema = scenarioRecordSchema.extend({ warnings: z.array(z.string()) });
export type ImportedRecord = z.infer<typeof importedRecordSchema>;

/** A card of the library. */
export const scenarioCardSchema = z.strictObject({
  id,
  revision,
  name: z.string(),
  modelName: z.string(),
  clusterLabel: z.string(),
  parameters: z.number(),
  updatedAt: z.string(),
  exampleId: z.string().nullable(),
  currency: z.string().nullable(),
  best: planSummarySchema.nullable(),
});
export type ScenarioCard = z.infer<typeof scenarioCardSchema>;

/** Live totals beside the wizard. */
export const previewSchema = z.strictObject({
  parameters: z.number(),
  /** Model FLOPs of one training step (forward and backward, no recomputation). */
  activeParameters: z.number(),
  /** Parameters that the optimizer updates: adapters alone under LoRA. */
  trainedParameters: z.number(),
  modelFlopsPerStep: z.number(),
  tokensPerStep: z.number(),
  stepsInRun: z.number().nullable(),
  peakFlopsPerSecond: z.number(),
  /** Weights, gradients and optimizer states of the whole model, bytes, before sharding. */
  stateBytes: z.number(),
  usableMemoryBytes: z.number(),
  /** Least number of accelerators whose usable memory holds those states. */
  leastAccelerators: z.int(),
  /** Whole run at 100 % of peak: no plan can be faster. */
  daysAtPeak: z.number().nullable(),
  costPerHour: z.number().nullable(),
  currency: z.string().nullable(),
  /** The layers in order, as indices of their kinds. */
  layers: z.strictObject({
    kinds: z.array(
      z.strictObject({
        name: z.string(),
        /** In plain words; `none` where the layer has no such part. */
        mixer: z.string(),
        ffn: z.string(),
        count: z.int(),
        parameters: z.number(),
        activeParameters: z.number(),
      }),
    ),
    order: z.array(z.int()),
    mtpLayers: z.int(),
  }),
  tokensPerParameter: z.number().nullable(),
  computeOptimalTokens: z.number(),
  assumed: z.array(z.string()),
});
export type Preview = z.infer<typeof previewSchema>;

export const evaluationSchema = z.strictObject({
  plan: planSchema,
  valid: z.boolean(),
  /** Every rule the plan breaks, not only the first. */
  violations: z.array(violationSchema),
  /** The valid plan that differs least from a broken one; null where there is none or the plan is valid. */
  nearestPlan: planSchema.nullable(),
  verdict: z.enum(verdicts).nullable(),
  /** null for an invalid plan. */
  estimate: estimateSchema.nullable(),
  fixes: z.array(fixSchema),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

export const appInfoSchema = z.strictObject({
  version: z.string(),
  engineVersion: z.string(),
  calibrationDate: z.string(),
  /** How the shipped calibration did on measured runs, in one sentence. */
  evidence: z.string(),
  workers: z.int(),
  platform: z.string(),
});
export type AppInfo = z.infer<typeof appInfoSchema>;

/** A scenario as the pages send it: not trusted, resolved (or refused with every fault) by the services. */
const draft = z.unknown();

export const calls = {
  'app.info': { input: z.strictObject({}), output: appInfoSchema },
  'catalog.get': { input: z.strictObject({}), output: catalogSchema },
  'scenario.list': { input: z.strictObject({}), output: z.array(scenarioCardSchema) },
  'scenario.get': { input: z.strictObject({ id }), output: scenarioRecordSchema },
  'scenario.create': { input: z.strictObject({ scenario: draft }), output: scenarioRecordSchema },
  /** Replaces the scenario; `revision` must be the one that was read, else code `conflict`. Results are kept only while
   *  model, cluster, job, constraints and objective are unchanged. */
  'scenario.update': { input: z.strictObject({ id, revision, scenario: draft }), output: scenarioRecordSchema },
  'scenario.rename': { input: z.strictObject({ id, name: shortText }), output: scenarioRecordSchema },
  'scenario.duplicate': { input: z.strictObject({ id }), output: scenarioRecordSchema },
  /** Can be undone by `scenario.restore` for a week at least. */
  'scenario.delete': { input: z.strictObject({ id }), output: z.strictObject({ id, name: z.string() }) },
  'scenario.restore': { input: z.strictObject({ id }), output: scenarioRecordSchema },
  'scenario.export': {
    input: z.strictObject({ id, withResults: z.boolean().default(true) }),
    output: z.strictObject({ fileName: z.string(), text: z.string() }),
  },
  'scenario.import': {
    input: z.strictObject({ fileName: z.string().max(500), text: z.string().max(16_000_000) }),
    output: importedRecordSchema,
  },
  /** Checks a draft and counts its totals; faults come back as an error with `issues`, one per field. */
  'scenario.preview': { input: z.strictObject({ scenario: draft }), output: previewSchema },
  'plan.evaluate': {
    input: z.strictObject({ scenario: draft, plan: planInputSchema }),
    output: evaluationSchema,
  },
  /** One number of a plan with its formula, inputs, source and parts; `figure` is its id, or a path into it. */
  'plan.explain': {
    input: z.strictObject({ scenario: draft, plan: planInputSchema, figure: z.string().min(1).max(500) }),
    output: figureSchema,
  },
  /** All numbers of a plan that can be opened. */
  'plan.figures': {
    input: z.strictObject({ scenario: draft, plan: planInputSchema }),
    output: z.array(figureLineSchema),
  },
  /** Every pass of the pipeline; null for a plan with one stage or a broken rule. */
  'plan.timeline': {
    input: z.strictObject({ scenario: draft, plan: planInputSchema }),
    output: timelineSchema.nullable(),
  },
  /** The record of measured runs, each predicted with the calibration in force, or why it cannot be. */
  'evidence.list': { input: z.strictObject({}), output: z.array(evidenceRowSchema) },
  /** One of its runs: as recorded, its plan, what was assumed, the parts of the prediction. */
  'evidence.get': { input: z.strictObject({ id: z.string().min(1).max(300) }), output: evidenceDetailSchema },
  /** The measured runs that are most like a scenario, nearest first, and a warning where none is near. */
  'evidence.nearest': {
    input: z.strictObject({ scenario: draft, count: z.int().min(1).max(50).default(5) }),
    output: nearestEvidenceSchema,
  },
  /** What a pasted training log measured, beside the prediction of the plan that it is of. */
  'log.compare': {
    input: z.strictObject({ scenario: draft, plan: planInputSchema, text: z.string().max(16_000_000) }),
    output: logComparisonSchema,
  },
  /** Starts a search over a stored scenario; the result is saved with it if it is still the same when done. */
  'search.start': {
    input: z.strictObject({ jobId: id, scenarioId: id, top: z.int().min(1).max(1000).default(50) }),
    output: z.strictObject({ jobId: id }),
  },
  'job.cancel': { input: z.strictObject({ jobId: id }), output: z.strictObject({ cancelled: z.boolean() }) },
} as const;

export type Calls = typeof calls;
export type CallName = keyof Calls;
export type CallInput<N extends CallName> = z.input<Calls[N]['input']>;
export type ParsedInput<N extends CallName> = z.output<Calls[N]['input']>;
export type CallOutput<N extends CallName> = z.output<Calls[N]['output']>;

/** What services must offer: one function per call. */
export type Handlers = {
  [N in CallName]: (input: ParsedInput<N>) => CallOutput<N> | Promise<CallOutput<N>>;
};

const jobEvent = { jobId: id, scenarioId: id };
export const appEventSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('job-progress'),
    ...jobEvent,
    /** Plans covered so far (evaluated or ruled out) of all in the space. */
    done: z.int(),
    total: z.int(),
    best: planSummarySchema.nullable(),
  }),
  z.strictObject({ type: z.literal('job-done'), ...jobEvent, result: searchResultSchema, saved: z.boolean() }),
  z.strictObject({ type: z.literal('job-cancelled'), ...jobEvent, done: z.int(), total: z.int() }),
  z.strictObject({ type: z.literal('job-failed'), ...jobEvent, message: z.string(), remedy: z.string() }),
  z.strictObject({ type: z.literal('scenarios-changed'), ids: z.array(id) }),
  /** A menu command of the window for the page to carry out. */
  z.strictObject({
    type: z.literal('menu'),
    command: z.enum([
      'new-scenario',
      'import',
      'export',
      'library',
      'search',
      'theme-light',
      'theme-dark',
      'theme-system',
      'about',
    ]),
  }),
  /** A file that the window's dialog or the operating system opened. */
  z.strictObject({ type: z.literal('file-opened'), name: z.string(), text: z.string() }),
]);
export type AppEvent = z.infer<typeof appEventSchema>;

/** How a page or a script reaches the services: Electron IPC, loopback HTTP with server-sent events, or directly. */
export interface Transport {
  readonly kind: 'electron' | 'http' | 'direct';
  request(name: string, input: unknown): Promise<Reply<unknown>>;
  subscribe(listener: (event: AppEvent) => void): () => void;
}
