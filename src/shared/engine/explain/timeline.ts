/** The pipeline of one step, operation by operation: what the schedule's order and the stages' times make of it. */
import type { PlanInput, Timeline, TimelineRank } from '../../schema/index.ts';
import { evaluatePlan } from '../evaluate.ts';
import { stageTimes } from '../pipeline/schedules/simulated.ts';
import { pipelineShape, scheduleOf, type StageSeconds } from '../pipeline/schedules/index.ts';
import { simulate } from '../pipeline/simulate.ts';
import type { Problem } from '../problem.ts';
import { StepModel, type StepCost } from '../step/index.ts';
import type { LayerCost } from '../workload/operators.ts';

/** More than this is neither drawn nor sent: then evenly spaced ranks stand for all. */
const MOST_OPERATIONS = 66_000;

/** Seconds of every rank for one micro-batch, its forward and its weight gradients apart. */
function secondsOf(cost: StepCost): StageSeconds {
  const perRank = (of: (layer: LayerCost) => number) =>
    cost.ranks.map(({ counts, hasEmbedding, hasHead }) =>
      cost.kinds.reduce(
        (sum, kind, index) => sum + (counts[index] ?? 0) * of(kind.cost),
        (hasEmbedding ? of(cost.embedding) : 0) + (hasHead ? of(cost.head) : 0),
      ),
    );
  return {
    perRank: cost.rankSeconds,
    forwardPerRank: perRank((layer) => layer.forwardSeconds),
    // of a matmul's backward half is the gradient of its weights
    weightGradientPerRank: perRank((layer) => layer.backward.matmul / 2),
    send: cost.sendSeconds,
    isSendHidden: true,
  };
}

/** `most` of `count` indices at equal distances, the first and the last among them. */
function spaced(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index);
  const picked = Array.from({ length: most }, (_, index) => Math.round((index * (count - 1)) / (most - 1)));
  return [...new Set(picked)];
}

/** Every pass of the pipeline; null for a plan that breaks a rule or has one stage. */
export function timelineOf(problem: Problem, input: PlanInput): Timeline | null {
  const { plan, valid } = evaluatePlan(problem, input);
  if (!valid || plan.pp === 1) return null;
  const cost = new StepModel(problem).cost(plan);
  const schedule = scheduleOf(plan);
  const order = schedule.order(pipelineShape(plan, cost.numMicroBatches));
  const { makespan, busy, idle, starts, ends } = simulate(order, stageTimes(order, secondsOf(cost)));
  const operations = order.ranks.reduce((sum, { kinds }) => sum + kinds.length, 0);
  const shown = spaced(plan.pp, Math.max(2, Math.floor((MOST_OPERATIONS / operations) * plan.pp)));
  const ranks = shown.map((rank): TimelineRank => {
    const list = order.ranks[rank];
    return {
      rank,
      busySeconds: busy[rank] ?? 0,
      idleSeconds: idle[rank] ?? 0,
      starts: Array.from(starts[rank] ?? []),
      ends: Array.from(ends[rank] ?? []),
      kinds: Array.from(list?.kinds ?? []),
      stages: Array.from(list?.stages ?? []),
      microBatches: Array.from(list?.microBatches ?? []),
    };
  });
  const { busy: work, bubble, sends } = cost.pipeline;
  return {
    schedule: schedule.label,
    pp: plan.pp,
    vpp: plan.vpp,
    numMicroBatches: cost.numMicroBatches,
    makespanSeconds: makespan,
    estimateSeconds: work + bubble + sends,
    sendSeconds: cost.sendSeconds,
    operations,
    ranks,
  };
}
