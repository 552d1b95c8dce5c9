/** What a plan may say and this version does not plan, and texts that must be well formed. */
import { parseRankOrder } from '../network/index.ts';
import { isPlannedSchedule, schedules } from '../pipeline/schedules/index.ts';
import { setSchedule } from './pipeline.ts';
import type { Rule } from './rule.ts';

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
];
