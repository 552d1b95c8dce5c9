/** What a plan may say and this version does not plan, and texts that must be well formed. */
import type { Plan } from '../../schema/index.ts';
import { parseRankOrder } from '../network/index.ts';
import { isPlannedSchedule, schedules } from '../pipeline/schedules/index.ts';
import { setSchedule } from './pipeline.ts';
import type { Rule, Value } from './rule.ts';

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

export const notModelledRules: readonly Rule[] = [
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
