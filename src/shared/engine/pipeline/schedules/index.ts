/** The schedules that can be planned, by the names of the plan schema. A new one is one file and one line here. */
import type { Plan } from '../../../schema/index.ts';
import { dualPipe, dualPipeV } from './dual-pipe.ts';
import { gpipe } from './gpipe.ts';
import { interleaved, interleavedBreadthFirst } from './interleaved.ts';
import { oneFOneB } from './one-f-one-b.ts';
import { pipeDream2Bw } from './pipedream-2bw.ts';
import type { PipelineShape, Schedule } from './types.ts';
import { vHalf, vMin, zeroBubbleV } from './v-shaped.ts';
import { zeroBubbleH1, zeroBubbleH2 } from './zero-bubble-h.ts';

export type { PipelineSeconds, PipelineShape, Schedule, ShapeNeeds, StageSeconds } from './types.ts';

export const schedules = {
  '1f1b': oneFOneB,
  'interleaved-1f1b': interleaved,
  gpipe,
  'interleaved-bfs': interleavedBreadthFirst,
  'pipedream-2bw': pipeDream2Bw,
  'zb-h1': zeroBubbleH1,
  'zb-h2': zeroBubbleH2,
  'zb-v': zeroBubbleV,
  'v-half': vHalf,
  'v-min': vMin,
  dualpipe: dualPipe,
  'dualpipe-v': dualPipeV,
} as const satisfies Partial<Record<Plan['schedule']['name'], Schedule>>;

export type PlannedSchedule = keyof typeof schedules;

export function isPlannedSchedule(name: string): name is PlannedSchedule {
  return Object.hasOwn(schedules, name);
}

/** The schedule of a plan that passed the rules. */
export function scheduleOf(plan: Pick<Plan, 'schedule'>): Schedule {
  return schedules[plan.schedule.name as PlannedSchedule];
}

/** The pipeline's shape under a plan with `numMicroBatches` micro-batches per step. */
export function pipelineShape(plan: Pick<Plan, 'pp' | 'vpp' | 'schedule'>, numMicroBatches: number): PipelineShape {
  return { pp: plan.pp, numMicroBatches, vpp: plan.vpp, groupSize: plan.schedule.groupSize };
}
