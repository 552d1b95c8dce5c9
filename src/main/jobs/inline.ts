/** What of the engine is short enough (milliseconds) to run on the calling thread. */
export {
  completePlan,
  countPlans,
  describePlan,
  ENGINE_VERSION,
  evaluatePlan,
  parameterCounts,
  planKey,
  problemTotals,
  summarizeErrors,
  toCalibration,
  toProblem,
} from '#shared/engine/index.ts';
