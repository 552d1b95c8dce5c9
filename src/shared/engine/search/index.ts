/**
 * Exhaustive search of the plan space, in slices that workers take and whose results merge in any order.
 *
 * Every plan of the space is covered: ruled out by a rule, by the constraints or by memory (all counted by reason), or
 * evaluated exactly as `evaluatePlan` would. Nothing is sampled.
 */
import type { HeatCell, PlanSummary, SearchResult, SearchStats } from '../../schema/index.ts';
import { formatBytes } from '../../units.ts';
import { fullestStage } from '../memory/index.ts';
import { completePlan, describePlan } from '../plan.ts';
import type { Problem } from '../problem.ts';
import { firstBrokenRule } from '../rules/index.ts';
import { StepModel } from '../step/index.ts';
import { summarize, verdictOf } from '../summary.ts';
import { byStepTime, insertBest, insertFrontier, meetsConstraints, mergeCell, orderOf } from './collect.ts';
import { constraintFault, planAt, spaceOf } from './space.ts';

/** A share of the plan space: slice `index` of `total`; the slices cover the space once and are about equally long. */
export interface SliceRequest {
  index: number;
  total: number;
  /** How many best plans to keep. */
  top: number;
}

/** Called about every 256 plans; return false to stop early. `covered` counts the plans of this slice so far. */
export type SliceProgress = (covered: number, best: PlanSummary | null) => boolean;

/** What one slice found; merged with the others by `mergeSlices`, in any order. Plain data. */
export interface SliceResult {
  best: PlanSummary[];
  frontier: PlanSummary[];
  heatMap: HeatCell[];
  /** Feasible plans that are faster than the reference plan. */
  fasterThanReference: number;
  /** Of the plans that are valid but do not fit, the one that needs least memory. */
  leastMemoryPlan: PlanSummary | null;
  stats: Omit<SearchStats, 'seconds' | 'workers'>;
  stopped: boolean;
}

const PROGRESS_INTERVAL = 256;

/** Number of plans that a search covers: the sum of all slices' `enumerated`. */
export function countPlans(problem: Problem): number {
  return spaceOf(problem).size;
}

/** The summary of the scenario's own plan, if it has a valid one. */
function referenceOf(model: StepModel): PlanSummary | null {
  const { problem } = model;
  if (problem.referencePlan === null) return null;
  const plan = completePlan(problem, problem.referencePlan);
  if (firstBrokenRule(problem, plan) !== null) return null;
  return summarize(problem, plan, model.cost(plan), fullestStage(problem, plan).totalBytes);
}

function isFeasible(problem: Problem, summary: PlanSummary): boolean {
  return summary.verdict === 'fits' && meetsConstraints(problem, summary);
}

class SliceSearch {
  readonly model: StepModel;
  readonly result: SliceResult;
  private readonly problem: Problem;
  private readonly order: ReturnType<typeof orderOf>;
  private readonly top: number;
  private readonly reference: PlanSummary | null;
  private readonly cells = new Map<string, HeatCell>();

  constructor(problem: Problem, top: number) {
    this.problem = problem;
    this.model = new StepModel(problem);
    this.order = orderOf(problem.objective);
    this.top = top;
    this.reference = referenceOf(this.model);
    const stats = { enumerated: 0, prunedByReason: {}, evaluated: 0, feasible: 0 };
    this.result = {
      best: [],
      frontier: [],
      heatMap: [],
      fasterThanReference: 0,
      leastMemoryPlan: null,
      stats,
      stopped: false,
    };
  }

  cell(tp: number, pp: number): HeatCell {
    const key = `${tp}/${pp}`;
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = { tp, pp, best: null, leastMemoryBytes: null, plans: 0 };
      this.cells.set(key, cell);
      this.result.heatMap.push(cell);
    }
    return cell;
  }

  private prune(reason: string): void {
    const { prunedByReason } = this.result.stats;
    prunedByReason[reason] = (prunedByReason[reason] ?? 0) + 1;
  }

  private noteTooLarge(plan: PlanSummary['plan'], peakMemoryBytes: number): void {
    const { leastMemoryPlan } = this.result;
    if (leastMemoryPlan !== null && leastMemoryPlan.peakMemoryBytes < peakMemoryBytes) return;
    const summary = summarize(this.problem, plan, this.model.cost(plan), peakMemoryBytes);
    const isLess =
      leastMemoryPlan === null ||
      peakMemoryBytes < leastMemoryPlan.peakMemoryBytes ||
      byStepTime(summary, leastMemoryPlan) < 0;
    if (isLess) this.result.leastMemoryPlan = summary;
  }

  /** Covers one plan. */
  cover(plan: PlanSummary['plan']): void {
    const { problem, result } = this;
    result.stats.enumerated++;
    const cell = this.cell(plan.tp, plan.pp);
    const fault = constraintFault(problem, plan) ?? firstBrokenRule(problem, plan);
    if (fault !== null) return this.prune(fault);
    cell.plans++;
    const peakMemoryBytes = fullestStage(problem, plan).totalBytes;
    cell.leastMemoryBytes = Math.min(cell.leastMemoryBytes ?? Infinity, peakMemoryBytes);
    if (verdictOf(problem, plan, peakMemoryBytes) !== 'fits') {
      this.noteTooLarge(plan, peakMemoryBytes);
      return this.prune('memory');
    }
    result.stats.evaluated++;
    const summary = summarize(problem, plan, this.model.cost(plan), peakMemoryBytes);
    if (!meetsConstraints(problem, summary)) return this.prune('min-mfu');
    result.stats.feasible++;
    if (this.reference !== null && summary.stepSeconds < this.reference.stepSeconds) result.fasterThanReference++;
    insertBest(result.best, summary, this.order, this.top);
    insertFrontier(result.frontier, summary);
    if (cell.best === null || this.order(summary, cell.best) < 0) cell.best = summary;
  }
}

/** Covers one slice of the space. */
export function searchSlice(problem: Problem, request: SliceRequest, onProgress?: SliceProgress): SliceResult {
  const { outer, templates } = spaceOf(problem);
  const search = new SliceSearch(problem, request.top);
  const { result } = search;
  let nextReport = PROGRESS_INTERVAL;
  for (let i = request.index; i < outer.length; i += request.total) {
    const point = outer[i];
    if (point === undefined) break;
    for (const template of templates) search.cover(planAt(problem, template, point));
    if (result.stats.enumerated < nextReport) continue;
    nextReport = result.stats.enumerated + PROGRESS_INTERVAL;
    if (onProgress?.(result.stats.enumerated, result.best[0] ?? null) === false) {
      result.stopped = true;
      break;
    }
  }
  return result;
}

/** What to tell a user whose search found nothing, most useful first. */
function whyEmpty(problem: Problem, leastMemoryPlan: PlanSummary | null, pruned: Record<string, number>): string[] {
  const reasons: string[] = [];
  const { constraints, network } = problem;
  if (constraints.maxAccelerators !== null && network.numAccelerators > constraints.maxAccelerators)
    reasons.push(
      `The cluster has ${network.numAccelerators} accelerators but the limit is ${constraints.maxAccelerators}: raise the limit or shrink the cluster.`,
    );
  const tooSlow = pruned['min-mfu'] ?? 0;
  if (tooSlow > 0) reasons.push(`${tooSlow} plans fit but stay below the least MFU asked for: lower it.`);
  const notModelled = pruned['not-modelled'] ?? 0;
  if (notModelled > 0)
    reasons.push(`${notModelled} plans use what this version does not plan: release the pin that asks for it.`);
  if (leastMemoryPlan !== null && tooSlow === 0) {
    const usable = problem.device.usableMemoryBytes;
    const allowed = usable * (1 - constraints.headroomFraction);
    reasons.push(
      `Memory: the smallest plan (${describePlan(leastMemoryPlan.plan)}) needs ${formatBytes(leastMemoryPlan.peakMemoryBytes)} of the ${formatBytes(allowed)} that the headroom leaves.`,
    );
    reasons.push(
      leastMemoryPlan.peakMemoryBytes <= usable
        ? `It would fit with a headroom of ${Math.floor(100 * (1 - leastMemoryPlan.peakMemoryBytes / usable))} % or less.`
        : 'Add accelerators, take ones with more memory, or shorten the sequence.',
    );
  }
  const byConstraint = (pruned['pinned'] ?? 0) + (pruned['excluded'] ?? 0);
  if (byConstraint > 0) reasons.push(`Pins and exclusions rule out ${byConstraint} plans: release one of them.`);
  if (reasons.length === 0) {
    const pins = Object.entries(constraints.pin).map(([path, values]) => `${path} = ${values.join(' or ')}`);
    reasons.push(
      pins.length > 0
        ? `Every split with ${pins.join(', ')} breaks a rule: release a pin, or change the accelerators or the global batch so that they divide.`
        : 'Every split breaks a rule: change the number of accelerators or the global batch so that they divide.',
    );
  }
  return reasons;
}

/** Counts with the largest first; equal ones by name, so that their order says nothing about who counted when. */
function mostFirst(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)));
}

/** The scenario's own plan with its rank by speed among the plans that fit. */
function rankedReference(problem: Problem, numFaster: number): SearchResult['reference'] {
  const summary = referenceOf(new StepModel(problem));
  if (summary === null) return null;
  return { summary, rank: isFeasible(problem, summary) ? numFaster + 1 : null, label: problem.referenceLabel };
}

/** The whole answer from all slices of one search; independent of their order and number. */
export function mergeSlices(
  problem: Problem,
  slices: readonly SliceResult[],
  top: number,
  timing: { seconds: number; workers: number },
): Omit<SearchResult, 'engineVersion'> {
  const order = orderOf(problem.objective);
  const best: PlanSummary[] = [];
  const frontier: PlanSummary[] = [];
  const cells = new Map<string, HeatCell>();
  const prunedByReason: Record<string, number> = {};
  const stats = { enumerated: 0, evaluated: 0, feasible: 0 };
  let fasterThanReference = 0;
  let leastMemoryPlan: PlanSummary | null = null;
  for (const slice of slices) {
    for (const plan of slice.best) insertBest(best, plan, order, top);
    for (const plan of slice.frontier) insertFrontier(frontier, plan);
    for (const cell of slice.heatMap) {
      const key = `${cell.tp}/${cell.pp}`;
      const known = cells.get(key);
      if (known === undefined) cells.set(key, { ...cell });
      else mergeCell(known, cell, order);
    }
    for (const [reason, number] of Object.entries(slice.stats.prunedByReason))
      prunedByReason[reason] = (prunedByReason[reason] ?? 0) + number;
    stats.enumerated += slice.stats.enumerated;
    stats.evaluated += slice.stats.evaluated;
    stats.feasible += slice.stats.feasible;
    fasterThanReference += slice.fasterThanReference;
    const least = slice.leastMemoryPlan;
    const isLess =
      least !== null &&
      (leastMemoryPlan === null ||
        least.peakMemoryBytes < leastMemoryPlan.peakMemoryBytes ||
        (least.peakMemoryBytes === leastMemoryPlan.peakMemoryBytes && byStepTime(least, leastMemoryPlan) < 0));
    if (isLess) leastMemoryPlan = least;
  }
  return {
    best,
    frontier,
    heatMap: [...cells.values()].sort((a, b) => a.tp - b.tp || a.pp - b.pp),
    reference: rankedReference(problem, fasterThanReference),
    whyEmpty: best.length > 0 ? [] : whyEmpty(problem, leastMemoryPlan, prunedByReason),
    stats: { ...stats, prunedByReason: mostFirst(prunedByReason), ...timing },
  };
}
