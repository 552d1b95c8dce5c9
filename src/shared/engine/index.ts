/**
 * The planning engine: pure, synchronous, deterministic. This is its only door.
 *
 * A scenario becomes a `Problem` (SI units, plain data) by `toProblem`; every other function takes the problem.
 */
import type { SearchResult } from '../schema/index.ts';
import type { Problem } from './problem.ts';
import { mergeSlices as merge, type SliceResult } from './search/index.ts';

export { meteredBytes, type MeteredBytes } from './allocator.ts';
export { calibrate, fitProfile, type CrossValidation } from './calibration/cross-validation.ts';
export type { FoldKind, HeldOut, MeasuredCase } from './calibration/measured.ts';
export { toCalibration, type Calibration, type CalibrationSet } from './calibration/index.ts';
export { quantile, summarizeErrors, type ErrorSummary } from './calibration/statistics.ts';
export { nearestEvidence, type EvidenceQuery } from './evidence/nearest.ts';
export { explainFigure, explainList } from './explain/explain.ts';
export { timelineOf } from './explain/timeline.ts';
export { evaluatePlan, type EvaluatedPlan } from './evaluate.ts';
export { recipeLayout } from './layout.ts';
export { completePlan, describePlan, planKey } from './plan.ts';
export { contextOf, toProblem, type Problem } from './problem.ts';
export { brokenRules, violationsOf, type BrokenRule, type Consequence } from './rules/index.ts';
export { countPlans, searchSlice, type SliceProgress, type SliceRequest, type SliceResult } from './search/index.ts';
export { StepModel } from './step/index.ts';
export { parameterCounts, problemTotals, type ProblemTotals } from './totals.ts';

/** Changes whenever a number that the engine gives may change; stored with results so that old ones can be told. */
export const ENGINE_VERSION = '1';

/** The whole answer from all slices of one search. Independent of the order and number of slices. */
export function mergeSlices(
  problem: Problem,
  slices: readonly SliceResult[],
  top: number,
  timing: { seconds: number; workers: number },
): SearchResult {
  return { ...merge(problem, slices, top, timing), engineVersion: ENGINE_VERSION };
}
