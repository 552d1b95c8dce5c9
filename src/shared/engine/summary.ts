/** From a step's cost to the numbers that a plan is compared by. */
import type { Plan, PlanSummary, Verdict } from '../schema/index.ts';
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../units.ts';
import { reclaimableBytes } from './memory/index.ts';
import { planKey } from './plan.ts';
import type { Problem } from './problem.ts';
import { recomputedShareOf, type StepCost } from './step/index.ts';
import { modelFlops, recomputedFlops } from './workload/flops.ts';

/**
 * Whether a peak fits: below the headroom, inside it, or beyond what can be allocated even after the allocator has given
 * back what no tensor lies in.
 */
export function verdictOf(problem: Problem, plan: Plan, peakMemoryBytes: number): Verdict {
  const usable = problem.device.usableMemoryBytes;
  if (peakMemoryBytes - reclaimableBytes(problem, plan, peakMemoryBytes) > usable) return 'out-of-memory';
  return peakMemoryBytes > usable * (1 - problem.constraints.headroomFraction) ? 'at-risk' : 'fits';
}

export interface RunTotals {
  days: number | null;
  cost: number | null;
  acceleratorHours: number | null;
}

/** The whole run at one step's pace: tokens ÷ tokens per step; no failures or restarts (they come with the run model). */
export function runTotals(problem: Problem, stepSeconds: number): RunTotals {
  const { workload, network, price } = problem;
  if (workload.tokens === null) return { days: null, cost: null, acceleratorHours: null };
  const seconds = (workload.tokens / (workload.globalBatchSize * workload.seqLen)) * stepSeconds;
  const acceleratorHours = (seconds / SECONDS_PER_HOUR) * network.numAccelerators;
  return {
    days: seconds / SECONDS_PER_DAY,
    cost: price === null ? null : acceleratorHours * price.perAcceleratorHour,
    acceleratorHours,
  };
}

export interface StepFlops {
  model: number;
  hardware: number;
  /** FLOP/s of all accelerators at their dense peak. */
  peakPerSecond: number;
}

export function stepFlops(problem: Problem, plan: Plan): StepFlops {
  const { model, workload, network, device } = problem;
  const numTokens = workload.globalBatchSize * workload.seqLen;
  const useful = modelFlops(model, workload.seqLen, numTokens, workload.adapters);
  const share = recomputedShareOf(plan, model.numLayers / plan.pp);
  return {
    model: useful,
    hardware: useful + recomputedFlops(model, { seqLen: workload.seqLen, numTokens }, plan.recompute, share),
    peakPerSecond: network.numAccelerators * device.peakFlopsPerSecond,
  };
}

/** Idle share of the pipeline: what is neither the slowest rank's work nor its sends. */
export function bubbleFractionOf(cost: StepCost): number {
  const { busy, bubble, sends } = cost.pipeline;
  return bubble / (busy + bubble + sends);
}

/** The comparable numbers of a valid plan. */
export function summarize(problem: Problem, plan: Plan, cost: StepCost, peakMemoryBytes: number): PlanSummary {
  const { workload, network } = problem;
  const flops = stepFlops(problem, plan);
  const totals = runTotals(problem, cost.stepSeconds);
  return {
    key: planKey(plan),
    plan,
    stepSeconds: cost.stepSeconds,
    tokensPerSecondPerAccelerator:
      (workload.globalBatchSize * workload.seqLen) / cost.stepSeconds / network.numAccelerators,
    mfu: flops.model / (cost.stepSeconds * flops.peakPerSecond),
    hfu: flops.hardware / (cost.stepSeconds * flops.peakPerSecond),
    bubbleFraction: bubbleFractionOf(cost),
    peakMemoryBytes,
    days: totals.days,
    cost: totals.cost,
    verdict: verdictOf(problem, plan, peakMemoryBytes),
  };
}
