/** What of the engine is short enough (milliseconds) to run on the calling thread. */
export {
  brokenRules,
  completePlan,
  countPlans,
  describePlan,
  ENGINE_VERSION,
  evaluatePlan,
  meteredBytes,
  parameterCounts,
  planKey,
  problemTotals,
  recipeLayout,
  summarizeErrors,
  toCalibration,
  toProblem,
} from '#shared/engine/index.ts';
