/** Every moment of a run with what the fullest stage holds at it, on the device and on the host. Source: MODEL §3.10. */
import type { MemoryMoment, MemoryPart, Plan } from '../../schema/index.ts';
import { scheduleOf } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { deviceItems } from './buffers.ts';
import { holdingOf, residentRanks, shapeOf } from './holding.ts';
import { hostPartsPerNode } from './host.ts';
import { MemoryList, type MemoryItem } from './items.ts';
import { moments, type Moment } from './moments.ts';

const partOf = ({ label, bytes, source }: MemoryItem): MemoryPart => ({ label, bytes, source, children: [] });
const totalOf = (parts: readonly MemoryPart[]): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);

function momentOf(problem: Problem, plan: Plan, { id, label, add }: Moment): MemoryMoment {
  const schedule = scheduleOf(plan);
  const shape = shapeOf(problem, plan);
  const hostParts = hostPartsPerNode(problem, plan, id);
  const byStage = residentRanks(problem, plan).map((rank, stageIndex): MemoryMoment => {
    const list = new MemoryList(schedule.inFlight(shape, stageIndex));
    add(list, holdingOf(problem, plan, rank));
    const allocated = list.items.reduce((sum, { bytes }) => sum + bytes, 0);
    const parts = [...list.items, ...deviceItems(problem, plan, allocated)].map(partOf);
    return { id, label, stageIndex, bytes: totalOf(parts), parts, hostBytesPerNode: totalOf(hostParts), hostParts };
  });
  return byStage.reduce((most, one) => (one.bytes > most.bytes ? one : most));
}

/** The moments in the order of a run, each on the stage that holds most at it. The plan must be valid. */
export function memoryMoments(problem: Problem, plan: Plan): MemoryMoment[] {
  return moments.map((moment) => momentOf(problem, plan, moment));
}
