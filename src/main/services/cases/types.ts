/** The answer of `cases` (docs/FORMATS.md §8). */
import type { ErrorSummary, Problem } from '#shared/engine/index.ts';
import type { CaseReading } from '#shared/formats/cases/index.ts';
import type { Plan, Violation } from '#shared/schema/index.ts';

/** What is predicted of a configuration: a kind of outcome, or why there is no telling. */
export type Predicted =
  | 'fits'
  | 'at_risk'
  | 'oom'
  | 'host_oom'
  | 'rejected'
  | 'silent_wrong'
  | 'hang'
  /** What the row leaves out decides between fitting and not. */
  | 'depends'
  /** Rules hold; nothing in the row lets memory be computed. */
  | 'accepted'
  /** A number or comparison that the row asks for. */
  | 'computed'
  | 'not_predicted';

export interface MemoryComparison {
  /** What the meter of the record reads: the allocator's tensors, its pool, or the whole process. */
  meter: 'allocated' | 'reserved' | 'total';
  predictedGiB: number;
  measuredGiB: number | null;
  /** predicted ÷ measured − 1. */
  errorFraction: number | null;
}

export interface CaseAnswer {
  id: string;
  kind: string;
  predicted: Predicted;
  right: boolean;
  reason: string;
  violations: Violation[];
  memory: MemoryComparison | null;
  assumed: string[];
}

export interface CasesReport {
  rows: CaseAnswer[];
  summary: {
    count: number;
    right: number;
    byKind: Record<string, { count: number; right: number }>;
    /** Rows whose outcome hangs on what they leave out; counted as right where both outcomes are possible. */
    undetermined: number;
    memory: ErrorSummary;
    /** Fits or out of memory, where memory was computed in full. */
    verdicts: { count: number; right: number };
  };
}

/** A row read, resolved and ready to be asked. */
export interface PreparedCase {
  reading: CaseReading;
  problem: Problem;
  plan: Plan;
}

export interface Prediction {
  predicted: Predicted;
  reason: string;
  violations?: Violation[];
  memory?: MemoryComparison | null;
  /** Whether the verdict rests on memory computed from everything it needs. */
  isMeasuredVerdict?: boolean;
}
