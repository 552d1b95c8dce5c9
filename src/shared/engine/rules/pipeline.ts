/** Rules about layers on stages, schedules and micro-batches. */
import type { Plan } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import { balancedLayout, layoutFor } from '../layout.ts';
import {
  isPlannedSchedule,
  pipelineShape,
  schedules,
  type PipelineShape,
  type Schedule,
} from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { ranksOf } from '../stages.ts';
import { degreeRule, microBatchCandidates, numMicroBatchesOf, type Rule, type Value } from './rule.ts';

/** Replaces the schedule of a plan. */
export const setSchedule = (plan: Plan, value: Value): Plan => ({
  ...plan,
  schedule: { ...plan.schedule, name: String(value) as Plan['schedule']['name'] },
});

/** The plan's schedule with the pipeline's shape; null where it is not planned or the batch does not divide. */
function shapedSchedule(problem: Problem, plan: Plan): { schedule: Schedule; shape: PipelineShape } | null {
  const numMicroBatches = numMicroBatchesOf(problem, plan);
  if (!isPlannedSchedule(plan.schedule.name) || !Number.isInteger(numMicroBatches)) return null;
  return { schedule: schedules[plan.schedule.name], shape: pipelineShape(plan, numMicroBatches) };
}

/** The batch that does not divide, and the nearest ones that do. */
function batchFault(globalBatchSize: number, { dp, microBatchSize }: Plan): string {
  const unit = dp * microBatchSize;
  const below = Math.floor(globalBatchSize / unit) * unit;
  const near = below === 0 ? `the smallest that does is ${unit}` : `${below} and ${below + unit} do`;
  return `the global batch of ${globalBatchSize} does not divide by dp·micro-batch = ${dp}·${microBatchSize}; ${near}`;
}

export const pipelineRules: readonly Rule[] = [
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
      Number.isInteger(numMicroBatchesOf(problem, plan)) ? null : batchFault(problem.workload.globalBatchSize, plan),
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
