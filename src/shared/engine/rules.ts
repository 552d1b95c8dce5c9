/**
 * What makes a plan valid. Each rule looks at one thing and says in words what is wrong; a plan is judged by all of
 * them, so that a broken plan shows every fault at once, each with the values that would be legal there.
 * Source: Megatron-LM arguments.py and parallel_state.py (MODEL §1, §5.5, §6), and configurations that people reported as
 * refused without a reason, or run with layers lost.
 */
import type { Plan, Violation } from '../schema/index.ts';
import { divisorsOf } from './divisors.ts';
import { valueAt } from './plan.ts';
import { balancedLayout, layoutFor } from './layout.ts';
import { ranksOf } from './stages.ts';
import {
  isPlannedSchedule,
  pipelineShape,
  schedules,
  type PipelineShape,
  type Schedule,
} from './pipeline/schedules/index.ts';
import { parseRankOrder } from './network/index.ts';
import type { Problem } from './problem.ts';
import { degreeRule, type Rule, type Value } from './rule.ts';
import { groupRules, tpCandidates } from './rules-groups.ts';

const microBatchCandidates = (problem: Problem) =>
  divisorsOf(problem.workload.globalBatchSize).filter((size) => size <= 64);

/** Micro-batches per pipeline and step; a fraction where the batch does not divide. */
export function numMicroBatchesOf(problem: Problem, plan: Plan): number {
  return problem.workload.globalBatchSize / (plan.dp * plan.microBatchSize);
}

const setSchedule = (plan: Plan, value: Value): Plan => ({
  ...plan,
  schedule: { ...plan.schedule, name: String(value) as Plan['schedule']['name'] },
});

/** The plan's schedule with the pipeline's shape; null where it is not planned or the batch does not divide. */
function shapedSchedule(problem: Problem, plan: Plan): { schedule: Schedule; shape: PipelineShape } | null {
  const numMicroBatches = numMicroBatchesOf(problem, plan);
  if (!isPlannedSchedule(plan.schedule.name) || !Number.isInteger(numMicroBatches)) return null;
  return { schedule: schedules[plan.schedule.name], shape: pipelineShape(plan, numMicroBatches) };
}

const splitRules: Rule[] = [
  degreeRule(
    'degrees-divide-cluster',
    'pp',
    ({ network }, { tp, pp, cp }) =>
      network.numAccelerators % (tp * pp * cp) === 0
        ? null
        : `tp·pp·cp = ${tp}·${pp}·${cp} = ${tp * pp * cp} does not divide the ${network.numAccelerators} accelerators`,
    ({ network }) => divisorsOf(network.numAccelerators),
  ),
  degreeRule(
    'world-size',
    'dp',
    ({ network }, { tp, pp, cp, dp }) =>
      tp * pp * cp * dp === network.numAccelerators
        ? null
        : `tp·pp·cp·dp = ${tp}·${pp}·${cp}·${dp} = ${tp * pp * cp * dp}, but the cluster has ${network.numAccelerators} accelerators`,
    ({ network }) => divisorsOf(network.numAccelerators),
  ),
  degreeRule(
    'sequence-divides-tp',
    'tp',
    ({ workload }, { tp, cp, sequenceParallel }) =>
      !sequenceParallel || workload.seqLen % (tp * cp) === 0
        ? null
        : `sequence parallelism splits ${workload.seqLen / cp} tokens over tp = ${tp}, which does not divide`,
    tpCandidates,
  ),
  {
    id: 'sequence-parallel-needs-tp',
    path: 'sequenceParallel',
    fault: (_, { tp, sequenceParallel }) =>
      sequenceParallel && tp === 1 ? 'sequence parallelism needs tp above 1' : null,
    candidates: () => [false, true],
    set: (plan, value) => ({ ...plan, sequenceParallel: value === true }),
  },
];

const pipelineRules: Rule[] = [
  degreeRule(
    'layers-divide-pp',
    'pp',
    ({ model }, { pp, vpp, layout }) => {
      if (layout !== null || model.numLayers % pp === 0) return null;
      const balanced = balancedLayout(model.numLayers, pp, vpp);
      const way = balanced === null ? '' : `; the layout ${balanced} would hold them all`;
      return `${model.numLayers} layers do not divide over pp = ${pp}: ${model.numLayers % pp} would be lost${way}`;
    },
    ({ model, network }) => divisorsOf(model.numLayers).filter((pp) => network.numAccelerators % pp === 0),
  ),
  degreeRule(
    'layers-divide-vpp',
    'vpp',
    ({ model }, { pp, vpp, layout }) =>
      layout !== null || model.numLayers % pp !== 0 || (model.numLayers / pp) % vpp === 0
        ? null
        : `the ${model.numLayers / pp} layers of a rank do not divide over vpp = ${vpp} chunks`,
    ({ model }, { pp }) => divisorsOf(Math.max(1, Math.floor(model.numLayers / pp))),
  ),
  {
    id: 'layout-fits',
    path: 'layout',
    fault: ({ model }, plan) => {
      if (plan.layout === null || ranksOf(model, plan) !== null) return null;
      return (
        `the layout must start with E, end with L, hold ${model.numLayers} layers (t) in pp·vpp = ${plan.pp * plan.vpp} ` +
        'stages between bars'
      );
    },
    candidates: ({ model }, { pp, vpp }) => {
      const layout = layoutFor(model.numLayers, pp, vpp);
      return layout === undefined ? [] : [layout ?? 'null'];
    },
    set: (plan, value) => ({ ...plan, layout: value === 'null' ? null : String(value) }),
  },
  degreeRule(
    'interleaving-needs-pipeline',
    'vpp',
    (_, { pp, vpp }) => (vpp > 1 && pp === 1 ? `vpp = ${vpp} needs a pipeline (pp above 1)` : null),
    () => [1],
  ),
  {
    id: 'schedule-fits-vpp',
    path: 'schedule.name',
    fault: (_, { vpp, schedule }) => {
      if (!isPlannedSchedule(schedule.name)) return null;
      const { label, needs } = schedules[schedule.name];
      if (needs.chunks === 'one' && vpp > 1) return `${label} holds one chunk per rank, but vpp = ${vpp}`;
      if (needs.chunks === 'two' && vpp !== 2) return `${label} holds two chunks per rank, but vpp = ${vpp}`;
      return needs.chunks === 'several' && vpp === 1 ? `${label} needs vpp above 1` : null;
    },
    candidates: () => Object.keys(schedules),
    set: setSchedule,
  },
  degreeRule(
    'batch-divides',
    'microBatchSize',
    (problem, plan) =>
      Number.isInteger(numMicroBatchesOf(problem, plan))
        ? null
        : `the global batch of ${problem.workload.globalBatchSize} does not divide by dp·micro-batch = ${plan.dp}·${plan.microBatchSize}`,
    microBatchCandidates,
  ),
  degreeRule(
    'interleaving-divides-batch',
    'microBatchSize',
    (problem, plan) => {
      const shaped = shapedSchedule(problem, plan);
      const multiple = shaped?.schedule.needs.microBatchMultiple?.(shaped.shape) ?? 1;
      if (shaped === null || shaped.shape.numMicroBatches % multiple === 0) return null;
      const what = multiple === plan.pp ? `pp = ${plan.pp}` : String(multiple);
      return `${shaped.schedule.label} needs the ${shaped.shape.numMicroBatches} micro-batches to be a multiple of ${what}`;
    },
    microBatchCandidates,
  ),
  degreeRule(
    'schedule-needs-micro-batches',
    'microBatchSize',
    (problem, plan) => {
      const shaped = shapedSchedule(problem, plan);
      const least = shaped?.schedule.needs.leastMicroBatches?.(shaped.shape) ?? 1;
      if (shaped === null || shaped.shape.numMicroBatches >= least) return null;
      return `${shaped.schedule.label} over pp = ${plan.pp} needs at least ${least} micro-batches, but there are ${shaped.shape.numMicroBatches}`;
    },
    microBatchCandidates,
  ),
  degreeRule(
    'schedule-needs-even-pp',
    'pp',
    (_, { pp, schedule }) => {
      if (pp % 2 === 0 || !isPlannedSchedule(schedule.name)) return null;
      const { label, needs }: Schedule = schedules[schedule.name];
      return needs.isPpEven === true ? `${label} pairs ranks from both ends, but pp = ${pp} is odd` : null;
    },
    ({ model, network }) => divisorsOf(model.numLayers).filter((pp) => network.numAccelerators % pp === 0),
  ),
  {
    id: 'schedule-group-size',
    path: 'schedule.groupSize',
    fault: (problem, plan) => {
      const { groupSize, name } = plan.schedule;
      if (groupSize === null || !isPlannedSchedule(name)) return null;
      const { label, needs }: Schedule = schedules[name];
      if (needs.leastGroupSize === undefined) return `${label} has no micro-batch group size`;
      const least = needs.leastGroupSize(pipelineShape(plan, numMicroBatchesOf(problem, plan)));
      return groupSize < least ? `a micro-batch group size of ${groupSize} is below pp = ${least}` : null;
    },
    candidates: (problem, plan) => ['null', ...divisorsOf(Math.max(1, Math.floor(numMicroBatchesOf(problem, plan))))],
    set: (plan, value) => ({
      ...plan,
      schedule: { ...plan.schedule, groupSize: value === 'null' ? null : Number(value) },
    }),
  },
];

/** A part of a plan that this version understands but does not model: refused, never planned as something else. */
function notModelled(
  path: string,
  what: string,
  { isUsed, off, without }: { isUsed: (plan: Plan) => boolean; off: Value; without: (plan: Plan) => Plan },
): Rule {
  return {
    id: 'not-modelled',
    path,
    fault: (_, plan) => (isUsed(plan) ? `${what} is not planned by this version` : null),
    candidates: () => [off],
    set: without,
  };
}

const scopeRules: Rule[] = [
  {
    id: 'not-modelled',
    path: 'schedule.name',
    fault: (_, { schedule }) =>
      isPlannedSchedule(schedule.name) ? null : `the schedule ${schedule.name} is not planned by this version`,
    candidates: () => Object.keys(schedules),
    set: setSchedule,
  },
  {
    id: 'rank-order',
    path: 'rankOrder',
    fault: (_, { rankOrder }) =>
      parseRankOrder(rankOrder) === null
        ? `the rank order "${rankOrder}" must name tp, cp, ep, dp and pp once each, fastest first`
        : null,
    candidates: () => ['tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp'],
    set: (plan, value) => ({ ...plan, rankOrder: String(value) }),
  },
  notModelled('runtime.cudaGraphs', 'CUDA graphs', {
    isUsed: (p) => p.runtime.cudaGraphs !== 'none',
    off: 'none',
    without: (p) => ({ ...p, runtime: { ...p.runtime, cudaGraphs: 'none' } }),
  }),
];

export const rules: readonly Rule[] = [...splitRules, ...groupRules, ...pipelineRules, ...scopeRules];

/** The id of the first rule that a plan breaks, or null. Cheap: for the search. */
export function firstBrokenRule(problem: Problem, plan: Plan): string | null {
  for (const rule of rules) if (rule.fault(problem, plan) !== null) return rule.id;
  return null;
}

function nearestTo(value: unknown, legal: readonly Value[]): Value | null {
  if (typeof value !== 'number') return legal[0] ?? null;
  let best: number | null = null;
  for (const candidate of legal) {
    if (typeof candidate !== 'number') continue;
    if (best === null || Math.abs(Math.log(candidate / value)) < Math.abs(Math.log(best / value))) best = candidate;
  }
  return best ?? legal[0] ?? null;
}

/** Every rule that a plan breaks, with the legal values of its field and the nearest of them. */
export function violationsOf(problem: Problem, plan: Plan): Violation[] {
  return rules.flatMap((rule) => {
    const message = rule.fault(problem, plan);
    if (message === null) return [];
    const legal = rule
      .candidates(problem, plan)
      .filter((value) => rule.fault(problem, rule.set(plan, value)) === null)
      .slice(0, 64);
    return [{ rule: rule.id, message, legal, nearest: nearestTo(valueAt(plan, rule.path), legal), path: rule.path }];
  });
}
