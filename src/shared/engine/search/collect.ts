/** What a search keeps of the plans it has seen: the best, the Pareto frontier and the tp × pp cells. */
import type { HeatCell, PlanSummary } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';

export type Order = (a: PlanSummary, b: PlanSummary) => number;

function byKey(a: PlanSummary, b: PlanSummary): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Fastest first; equal times by memory, then by key, so that order never depends on who found a plan when. */
export const byStepTime: Order = (a, b) =>
  a.stepSeconds - b.stepSeconds || a.peakMemoryBytes - b.peakMemoryBytes || byKey(a, b);

const byMemory: Order = (a, b) => a.peakMemoryBytes - b.peakMemoryBytes || a.stepSeconds - b.stepSeconds || byKey(a, b);

/**
 * The order of an objective. On a cluster of given size, time, cost and energy of a run all follow from the step time,
 * so they rank alike.
 */
export function orderOf(objective: string): Order {
  return objective === 'memory-headroom' ? byMemory : byStepTime;
}

/** Keeps `list` sorted and at most `top` long. */
export function insertBest(list: PlanSummary[], plan: PlanSummary, order: Order, top: number): void {
  const last = list[list.length - 1];
  if (list.length >= top && last !== undefined && order(plan, last) >= 0) return;
  let at = list.length;
  while (at > 0 && order(plan, list[at - 1] as PlanSummary) < 0) at--;
  list.splice(at, 0, plan);
  if (list.length > top) list.pop();
}

/**
 * Keeps `frontier` as the plans that no other beats in both step time and peak memory, fastest first (so memory falls
 * along it). Of plans equal in both, the one with the smaller key stays.
 */
export function insertFrontier(frontier: PlanSummary[], plan: PlanSummary): void {
  let at = 0;
  while (at < frontier.length && byStepTime(frontier[at] as PlanSummary, plan) <= 0) at++;
  const faster = frontier[at - 1];
  if (faster !== undefined && faster.peakMemoryBytes <= plan.peakMemoryBytes) return;
  let end = at;
  while (end < frontier.length && (frontier[end] as PlanSummary).peakMemoryBytes >= plan.peakMemoryBytes) end++;
  frontier.splice(at, end - at, plan);
}

export function mergeCell(into: HeatCell, cell: HeatCell, order: Order): void {
  into.plans += cell.plans;
  if (cell.leastMemoryBytes !== null)
    into.leastMemoryBytes = Math.min(into.leastMemoryBytes ?? Infinity, cell.leastMemoryBytes);
  if (cell.best !== null && (into.best === null || order(cell.best, into.best) < 0)) into.best = cell.best;
}

/** What a problem's constraints ask of a plan beyond fitting. */
export function meetsConstraints(problem: Problem, plan: PlanSummary): boolean {
  const { minMfu } = problem.constraints;
  return minMfu === null || plan.mfu >= minMfu;
}
