/** The schedules that can be planned, by the names of the plan schema. A new one is one file and one line here. */
import { interleaved } from './interleaved.ts';
import { oneFOneB } from './one-f-one-b.ts';
import type { Schedule } from './types.ts';

export type { PipelineSeconds, PipelineShape, Schedule, StageSeconds } from './types.ts';

export const schedules = {
  '1f1b': oneFOneB,
  'interleaved-1f1b': interleaved,
} as const satisfies Record<string, Schedule>;

export type PlannedSchedule = keyof typeof schedules;

export function isPlannedSchedule(name: string): name is PlannedSchedule {
  return Object.hasOwn(schedules, name);
}
