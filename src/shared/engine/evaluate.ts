/** Everything about one plan: whether it is valid, whether it fits, its estimate with all parts, and what would fix it. */
import type { Estimate, Fix, Plan, PlanInput, Verdict, Violation } from '../schema/index.ts';
import { communicationsOf, memoryParts, timeParts, waterfallOf } from './explain.ts';
import { fullestStage, stageMemory } from './memory.ts';
import { completePlan } from './plan.ts';
import type { Problem } from './problem.ts';
import { firstBrokenRule, violationsOf } from './rules.ts';
import { nearestValidPlan } from './search/nearest.ts';
import { StepModel, type StepCost } from './step.ts';
import { runTotals, stepFlops, summarize, verdictOf } from './summary.ts';
import { FLOPS_CONVENTION } from './workload/flops.ts';
import { totalParameters } from './workload/parameters.ts';

export interface EvaluatedPlan {
  plan: Plan;
  valid: boolean;
  violations: Violation[];
  nearestPlan: Plan | null;
  verdict: Verdict | null;
  estimate: Estimate | null;
  fixes: Fix[];
}

function intervalOf(problem: Problem, stepSeconds: number, peakMemoryBytes: number): Estimate['interval'] {
  const { stepTimeBand, memoryBand } = problem.calibration;
  return {
    stepSeconds: stepTimeBand === null ? null : [stepSeconds * stepTimeBand.low, stepSeconds * stepTimeBand.high],
    peakMemoryBytes: memoryBand === null ? null : [peakMemoryBytes * memoryBand.low, peakMemoryBytes * memoryBand.high],
    basis:
      [stepTimeBand?.basis, memoryBand?.basis].filter((text) => text !== undefined).join('; ') || 'no evidence yet',
  };
}

/** The estimate of a valid plan, with all its parts. */
export function estimateOf(problem: Problem, plan: Plan, cost: StepCost): Estimate {
  const memoryByStage = Array.from({ length: plan.pp }, (_, stageIndex) => stageMemory(problem, plan, stageIndex));
  const fullest = memoryByStage.reduce((most, stage) => (stage.totalBytes > most.totalBytes ? stage : most));
  const summary = summarize(problem, plan, cost, fullest.totalBytes);
  const flops = stepFlops(problem, plan.recompute);
  const totals = runTotals(problem, cost.stepSeconds);
  return {
    stepSeconds: cost.stepSeconds,
    tokensPerSecond: summary.tokensPerSecondPerAccelerator * problem.network.numAccelerators,
    tokensPerSecondPerAccelerator: summary.tokensPerSecondPerAccelerator,
    mfu: summary.mfu,
    hfu: summary.hfu,
    flopsConvention: FLOPS_CONVENTION,
    modelFlops: flops.model,
    hardwareFlops: flops.hardware,
    peakFlopsPerSecond: flops.peakPerSecond,
    bubbleFraction: summary.bubbleFraction,
    numMicroBatches: cost.numMicroBatches,
    parameters: totalParameters(problem.model),
    peakMemoryBytes: fullest.totalBytes,
    peakMemoryBytesByStage: memoryByStage.map((stage) => stage.totalBytes),
    memoryByStage,
    usableMemoryBytes: problem.device.usableMemoryBytes,
    days: totals.days,
    cost: totals.cost,
    currency: problem.price?.currency ?? null,
    acceleratorHours: totals.acceleratorHours,
    interval: intervalOf(problem, cost.stepSeconds, fullest.totalBytes),
    parts: timeParts(plan, cost),
    memoryParts: memoryParts(problem, plan, fullest.stageIndex),
    waterfall: waterfallOf(problem, plan, cost),
    communication: communicationsOf(problem, plan, cost),
    assumed: problem.assumed,
  };
}

interface Change {
  change: string;
  patch: Fix['patch'];
  plan: Plan;
}

/** Single switches that may save memory, as a person would try them one by one. */
function memoryChanges(plan: Plan): Change[] {
  const changes: Change[] = [];
  const add = (change: string, patch: Fix['patch'], next: Plan) => changes.push({ change, patch, plan: next });
  const { recompute, sharding, runtime } = plan;
  if (sharding.zeroStage === 0 && plan.dp > 1)
    add(
      'shard the optimizer over dp (distributed optimizer)',
      { 'sharding.zeroStage': 1 },
      { ...plan, sharding: { ...sharding, zeroStage: 1 } },
    );
  if (!plan.sequenceParallel && plan.tp > 1)
    add('turn sequence parallelism on', { sequenceParallel: true }, { ...plan, sequenceParallel: true });
  if (recompute.mode === 'none')
    add(
      'recompute core attention',
      { 'recompute.mode': 'selective' },
      { ...plan, recompute: { mode: 'selective', modules: ['core-attention'], layersPerStage: null } },
    );
  if (recompute.mode !== 'full')
    add(
      'recompute every layer',
      { 'recompute.mode': 'full' },
      { ...plan, recompute: { mode: 'full', modules: [], layersPerStage: null } },
    );
  if (plan.microBatchSize > 1) add('take micro-batches of 1', { microBatchSize: 1 }, { ...plan, microBatchSize: 1 });
  if (!runtime.expandableSegments)
    add(
      'let the allocator use expandable segments',
      { 'runtime.expandableSegments': true },
      { ...plan, runtime: { ...runtime, expandableSegments: true } },
    );
  if (!runtime.fusedCrossEntropy)
    add(
      'fuse the cross-entropy',
      { 'runtime.fusedCrossEntropy': true },
      { ...plan, runtime: { ...runtime, fusedCrossEntropy: true } },
    );
  if (plan.vpp > 1)
    add(
      'do not interleave',
      { vpp: 1, 'schedule.name': '1f1b' },
      { ...plan, vpp: 1, schedule: { name: '1f1b', groupSize: null } },
    );
  if (plan.dp % 2 === 0) {
    add(
      `double pp to ${plan.pp * 2}`,
      { pp: plan.pp * 2, dp: plan.dp / 2 },
      { ...plan, pp: plan.pp * 2, dp: plan.dp / 2 },
    );
    add(
      `double tp to ${plan.tp * 2}`,
      { tp: plan.tp * 2, dp: plan.dp / 2 },
      { ...plan, tp: plan.tp * 2, dp: plan.dp / 2 },
    );
  }
  return changes;
}

const verdictOrder: Record<Verdict, number> = { fits: 0, 'at-risk': 1, 'out-of-memory': 2 };

/** Valid single changes that save memory: those that make the plan fit first, and among equals the cheapest in time. */
function fixesOf(model: StepModel, plan: Plan, cost: StepCost, peakMemoryBytes: number): Fix[] {
  const { problem } = model;
  const fixes = memoryChanges(plan).flatMap(({ change, patch, plan: next }): Fix[] => {
    if (firstBrokenRule(problem, next) !== null) return [];
    const bytes = fullestStage(problem, next).totalBytes;
    if (bytes >= peakMemoryBytes) return [];
    const costsSeconds = model.cost(next).stepSeconds - cost.stepSeconds;
    return [{ change, patch, savesBytes: peakMemoryBytes - bytes, costsSeconds, verdict: verdictOf(problem, bytes) }];
  });
  return fixes.sort((a, b) => verdictOrder[a.verdict] - verdictOrder[b.verdict] || a.costsSeconds - b.costsSeconds);
}

/** Everything about one plan. Never throws for a bad plan: its faults are data. */
export function evaluatePlan(problem: Problem, input: PlanInput): EvaluatedPlan {
  const plan = completePlan(problem, input);
  const violations = violationsOf(problem, plan);
  if (violations.length > 0) {
    const nearestPlan = nearestValidPlan(problem, plan);
    return { plan, valid: false, violations, nearestPlan, verdict: null, estimate: null, fixes: [] };
  }
  const model = new StepModel(problem);
  const cost = model.cost(plan);
  const estimate = estimateOf(problem, plan, cost);
  const verdict = verdictOf(problem, estimate.peakMemoryBytes);
  const fixes = verdict === 'fits' ? [] : fixesOf(model, plan, cost, estimate.peakMemoryBytes);
  return { plan, valid: true, violations: [], nearestPlan: null, verdict, estimate, fixes };
}
