/** Measured runs on their way through a fit: what goes in, what is predicted of a row that was left out. */
import type { ModelKind } from '../../schema/index.ts';
import type { FitCase } from './fit.ts';

/** A row of the record that is predicted. */
export interface MeasuredCase extends Omit<FitCase, 'base'> {
  id: string;
  kind: ModelKind;
  framework: string;
  /** Runs that differ in their split only, or null for a row that is compared with none. */
  rankGroup: string | null;
}

/** One prediction of a row that was left out. */
export interface HeldOut {
  id: string;
  kind: ModelKind;
  fold: string;
  predictedSeconds: number;
  measuredSeconds: number;
}

/** How rows were divided: none left out; by configuration, source, accelerator or stack; a few rows of a source given. */
export type FoldKind = 'in-sample' | 'grouped' | 'source' | 'accelerator' | 'framework' | 'few';

/** Error of one fold. Fractions; null where there is no row. */
export interface FoldSummary {
  by: FoldKind;
  key: string;
  kind: ModelKind;
  rows: number;
  mape: number | null;
  medianApe: number | null;
  bias: number | null;
}
