/**
 * The planning engine: pure, synchronous, deterministic. This is its only door.
 *
 * A scenario becomes a `Problem` (SI units, plain data) by `toProblem`; every other function takes the problem.
 */
import type {
  Fix,
  Plan,
  PlanInput,
  SearchResult,
  SearchStats,
  PlanSummary,
  HeatCell,
  Verdict,
  Violation,
  Estimate,
} from '../schema/index.ts';
import type { Problem } from './problem.ts';

export { toProblem, type Problem } from './problem.ts';
export { toCalibration, type Calibration } from './calibration/index.ts';

/** Changes whenever a number that the engine gives may change; stored with results so that old ones can be told. */
export const ENGINE_VERSION = '1';

export interface ProblemTotals {
  parameters: number;
  modelFlopsPerStep: number;
  tokensPerStep: number;
  stepsInRun: number | null;
  peakFlopsPerSecond: number;
  stateBytes: number;
  usableMemoryBytes: number;
  leastAccelerators: number;
  daysAtPeak: number | null;
  costPerHour: number | null;
  currency: string | null;
}

export interface EvaluatedPlan {
  plan: Plan;
  valid: boolean;
  violations: Violation[];
  nearestPlan: Plan | null;
  verdict: Verdict | null;
  estimate: Estimate | null;
  fixes: Fix[];
}

/** A share of the plan space: slice `index` of `total`; slices cover the space once and are about equally long. */
export interface SliceRequest {
  index: number;
  total: number;
  /** How many best plans to keep. */
  top: number;
}

/** Called about every 256 plans; return false to stop early. `covered` counts plans of this slice so far. */
export type SliceProgress = (covered: number, best: PlanSummary | null) => boolean;

/** What one slice found; merged with the others by `mergeSlices`, in any order. Plain data. */
export interface SliceResult {
  best: PlanSummary[];
  frontier: PlanSummary[];
  heatMap: HeatCell[];
  /** Number of feasible plans faster than the reference plan. */
  fasterThanReference: number;
  leastMemoryPlan: PlanSummary | null;
  stats: Omit<SearchStats, 'seconds' | 'workers'>;
  stopped: boolean;
}

export declare function problemTotals(problem: Problem): ProblemTotals;
/** The full plan from a partial one: the framework's defaults fill in and dp follows from the rest. */
export declare function completePlan(problem: Problem, input: PlanInput): Plan;
/** Everything about one plan. Never throws for a bad plan: its faults are data. */
export declare function evaluatePlan(problem: Problem, plan: PlanInput): EvaluatedPlan;
/** Number of plans that a search covers: the sum of all slices' `enumerated`. */
export declare function countPlans(problem: Problem): number;
export declare function searchSlice(problem: Problem, request: SliceRequest, onProgress?: SliceProgress): SliceResult;
/** The whole answer from all slices of one search. Independent of the order and number of slices. */
export declare function mergeSlices(
  problem: Problem,
  slices: readonly SliceResult[],
  top: number,
  timing: { seconds: number; workers: number },
): SearchResult;
