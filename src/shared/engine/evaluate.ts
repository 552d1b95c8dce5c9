/** Everything about one plan: whether it is valid, whether it fits, its estimate with all parts, and what would fix it. */
import type { Estimate, Fix, Plan, PlanInput, PlanSummary, StageMemory, Verdict, Violation } from '../schema/index.ts';
import { meteredBytes } from './allocator.ts';
import { communicationsOf } from './explain/communication.ts';
import { memoryParts, timeParts } from './explain/parts.ts';
import { waterfallOf } from './explain/waterfall.ts';
import { fullestStage, hostBytesPerNode, hostHolds, memoryByStage, memoryMoments } from './memory/index.ts';
import { completePlan } from './plan.ts';
import type { Problem } from './problem.ts';
import { firstBrokenRule, violationsOf } from './rules/index.ts';
import { nearestValidPlan } from './search/nearest.ts';
import { StepModel, type StepCost } from './step/index.ts';
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

/** Everything about a valid plan in numbers: every part of the step time, the memory of every stage by category. */
export interface PlanFigures {
  cost: StepCost;
  memoryByStage: StageMemory[];
  /** The stage that holds most. */
  fullest: StageMemory;
  summary: PlanSummary;
}

/** Step time with all its parts, memory of all stages, and what a plan is compared by. The plan must be valid. */
export function figuresOf(model: StepModel, plan: Plan): PlanFigures {
  const { problem } = model;
  const cost = model.cost(plan);
  const stages = memoryByStage(problem, plan);
  const fullest = stages.reduce((most, stage) => (stage.totalBytes > most.totalBytes ? stage : most));
  return { cost, memoryByStage: stages, fullest, summary: summarize(problem, plan, cost, fullest.totalBytes) };
}

/** The estimate of a valid plan: its figures, told as trees that open into formula, numbers and source. */
export function estimateOf(problem: Problem, plan: Plan, figures: PlanFigures): Estimate {
  const { cost, fullest, summary } = figures;
  const allocator = meteredBytes(problem, plan, fullest.stageIndex);
  const flops = stepFlops(problem, plan);
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
    peakMemoryBytesByStage: figures.memoryByStage.map((stage) => stage.totalBytes),
    memoryByStage: figures.memoryByStage,
    usableMemoryBytes: problem.device.usableMemoryBytes,
    allocatedMemoryBytes: allocator.allocated,
    reservedMemoryBytes: allocator.reserved,
    hostBytesPerNode: hostBytesPerNode(problem, plan),
    hostMemoryBytes: problem.host.memoryBytes,
    memoryMoments: memoryMoments(problem, plan),
    days: summary.days,
    cost: summary.cost,
    currency: problem.price?.currency ?? null,
    acceleratorHours: runTotals(problem, cost.stepSeconds).acceleratorHours,
    interval: intervalOf(problem, cost.stepSeconds, fullest.totalBytes),
    parts: timeParts(plan, cost),
    memoryParts: memoryParts(problem, plan, fullest.stageIndex),
    waterfall: waterfallOf(problem, plan, cost),
    communication: communicationsOf(problem, plan, cost),
    assumed: problem.assumed,
  };
}

interface Switch {
  change: string;
  patch: Fix['patch'];
  isOpen: (plan: Plan) => boolean;
  apply: (plan: Plan) => Plan;
}

const withRecompute = (plan: Plan, mode: 'selective' | 'full'): Plan => ({
  ...plan,
  recompute: { mode, modules: mode === 'selective' ? ['core-attention'] : [], layersPerStage: null },
});

/** Single switches that may save memory, as a person would try them one by one. */
const memorySwitches: readonly Switch[] = [
  {
    change: 'shard the optimizer over dp (distributed optimizer)',
    patch: { 'sharding.zeroStage': 1 },
    isOpen: (plan) => plan.sharding.zeroStage === 0 && plan.dp > 1,
    apply: (plan) => ({ ...plan, sharding: { ...plan.sharding, zeroStage: 1 } }),
  },
  {
    change: 'turn sequence parallelism on',
    patch: { sequenceParallel: true },
    isOpen: (plan) => !plan.sequenceParallel && plan.tp > 1,
    apply: (plan) => ({ ...plan, sequenceParallel: true }),
  },
  {
    change: 'recompute core attention',
    patch: { 'recompute.mode': 'selective' },
    isOpen: (plan) => plan.recompute.mode === 'none',
    apply: (plan) => withRecompute(plan, 'selective'),
  },
  {
    change: 'recompute every layer',
    patch: { 'recompute.mode': 'full' },
    isOpen: (plan) => plan.recompute.mode !== 'full',
    apply: (plan) => withRecompute(plan, 'full'),
  },
  {
    change: 'take micro-batches of 1',
    patch: { microBatchSize: 1 },
    isOpen: (plan) => plan.microBatchSize > 1,
    apply: (plan) => ({ ...plan, microBatchSize: 1 }),
  },
  {
    change: 'let the allocator use expandable segments',
    patch: { 'runtime.expandableSegments': true },
    isOpen: (plan) => !plan.runtime.expandableSegments,
    apply: (plan) => ({ ...plan, runtime: { ...plan.runtime, expandableSegments: true } }),
  },
  {
    change: 'fuse the cross-entropy',
    patch: { 'runtime.fusedCrossEntropy': true },
    isOpen: (plan) => !plan.runtime.fusedCrossEntropy,
    apply: (plan) => ({ ...plan, runtime: { ...plan.runtime, fusedCrossEntropy: true } }),
  },
  {
    change: 'shard gradients as well (ZeRO-2)',
    patch: { 'sharding.zeroStage': 2 },
    isOpen: (plan) => plan.sharding.zeroStage === 1 && plan.pp === 1 && plan.dp > 1,
    apply: (plan) => ({ ...plan, sharding: { ...plan.sharding, zeroStage: 2 } }),
  },
  {
    change: 'shard weights as well (ZeRO-3)',
    patch: { 'sharding.zeroStage': 3 },
    isOpen: (plan) => plan.sharding.zeroStage < 3 && plan.pp === 1 && plan.dp > 1,
    apply: (plan) => ({ ...plan, sharding: { ...plan.sharding, zeroStage: 3 } }),
  },
  {
    change: 'keep the optimizer on the host',
    patch: { 'offload.optimizer': 1 },
    isOpen: (plan) => plan.offload.optimizer < 1,
    apply: (plan) => ({ ...plan, offload: { ...plan.offload, optimizer: 1 } }),
  },
  {
    change: 'do not interleave',
    patch: { vpp: 1, 'schedule.name': '1f1b' },
    isOpen: (plan) => plan.vpp > 1 && plan.layout === null,
    apply: (plan) => ({ ...plan, vpp: 1, schedule: { name: '1f1b', groupSize: null } }),
  },
];

/** Twice the degree at half the dp. */
function doubled(plan: Plan, degree: 'tp' | 'pp'): Switch[] {
  if (plan.dp % 2 !== 0 || plan.layout !== null) return [];
  const next = { [degree]: plan[degree] * 2, dp: plan.dp / 2 };
  const change = `double ${degree} to ${plan[degree] * 2}`;
  return [{ change, patch: next, isOpen: () => true, apply: () => ({ ...plan, ...next }) }];
}

const verdictOrder: Record<Verdict, number> = { fits: 0, 'at-risk': 1, 'out-of-memory': 2 };

/** Valid single changes that save memory: those that make the plan fit first, and among equals the cheapest in time. */
function fixesOf(model: StepModel, plan: Plan, cost: StepCost, peakMemoryBytes: number): Fix[] {
  const { problem } = model;
  const switches = [...memorySwitches, ...doubled(plan, 'pp'), ...doubled(plan, 'tp')];
  const fixes = switches.flatMap(({ change, patch, isOpen, apply }): Fix[] => {
    if (!isOpen(plan)) return [];
    const next = apply(plan);
    if (firstBrokenRule(problem, next) !== null) return [];
    const bytes = fullestStage(problem, next).totalBytes;
    if (bytes >= peakMemoryBytes || !hostHolds(problem, next)) return [];
    const costsSeconds = model.cost(next).stepSeconds - cost.stepSeconds;
    return [
      { change, patch, savesBytes: peakMemoryBytes - bytes, costsSeconds, verdict: verdictOf(problem, next, bytes) },
    ];
  });
  return fixes.sort((a, b) => verdictOrder[a.verdict] - verdictOrder[b.verdict] || a.costsSeconds - b.costsSeconds);
}

const models = new WeakMap<Problem, StepModel>();

/** The step model of a problem; what it remembers of layers serves every plan that is asked about. */
function modelOf(problem: Problem): StepModel {
  let model = models.get(problem);
  if (model === undefined) models.set(problem, (model = new StepModel(problem)));
  return model;
}

/** Everything about one plan. Never throws for a bad plan: its faults are data. */
export function evaluatePlan(problem: Problem, input: PlanInput): EvaluatedPlan {
  const plan = completePlan(problem, input);
  const violations = violationsOf(problem, plan);
  if (violations.length > 0) {
    const nearestPlan = nearestValidPlan(problem, plan);
    return { plan, valid: false, violations, nearestPlan, verdict: null, estimate: null, fixes: [] };
  }
  const model = modelOf(problem);
  const figures = figuresOf(model, plan);
  const estimate = estimateOf(problem, plan, figures);
  const verdict = hostHolds(problem, plan) ? verdictOf(problem, plan, estimate.peakMemoryBytes) : 'out-of-memory';
  const fixes = verdict === 'fits' ? [] : fixesOf(model, plan, figures.cost, estimate.peakMemoryBytes);
  return { plan, valid: true, violations: [], nearestPlan: null, verdict, estimate, fixes };
}
