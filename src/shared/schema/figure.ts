/** A number that opens: its formula, what went in, where it is from, and the parts that add up to it. SI units. */
import { z } from 'zod';

/** A number that went into a formula. The unit is empty for counts; `figure` is the id of the figure that it is. */
export const figureInputSchema = z.strictObject({
  label: z.string(),
  value: z.number(),
  unit: z.string(),
  figure: z.string().optional(),
});
export type FigureInput = z.infer<typeof figureInputSchema>;

/**
 * A number of a plan. Where it has children, their values add up to its own. Units: `s`, `B`, `B/s`, `FLOP`, `FLOP/s`,
 * `fraction`, `ratio`, `points` (a share of the peak in per cent), `days`, `h`, `kWh`, a currency code, or empty for counts.
 */
export interface Figure {
  /** Of the whole plan, e.g. `mfu`; of a part its place among its siblings, e.g. `forward`. A path joins them with `/`. */
  id: string;
  label: string;
  /** null = cannot be said; `about` says why. */
  value: number | null;
  unit: string;
  /** What it is, in a plain sentence; empty where the label says it. */
  about: string;
  /** How the value follows from `inputs`, written with their labels; empty where it is the sum of the children. */
  formula: string;
  inputs: FigureInput[];
  /** The publication, measurement, file or section of docs/MODEL.md behind it. */
  source: string;
  children: Figure[];
}
export const figureSchema: z.ZodType<Figure> = z.lazy(() =>
  z.strictObject({
    id: z.string(),
    label: z.string(),
    value: z.number().nullable(),
    unit: z.string(),
    about: z.string(),
    formula: z.string(),
    inputs: z.array(figureInputSchema),
    source: z.string(),
    children: z.array(figureSchema),
  }),
);

export const figureGroups = ['speed', 'memory', 'model', 'communication', 'run'] as const;

/** One line of the list of all figures of a plan. */
export const figureLineSchema = z.strictObject({
  id: z.string(),
  group: z.enum(figureGroups),
  label: z.string(),
  value: z.number().nullable(),
  unit: z.string(),
});
export type FigureLine = z.infer<typeof figureLineSchema>;
