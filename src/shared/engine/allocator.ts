/**
 * What different meters read of one rank's memory: the framework's allocator counts tensors (`allocated`), its pool also
 * counts what lies between them (`reserved`), and the device's own tool counts the whole process (`total`), the device
 * context and the collective library's buffers included. Source: PyTorch notes, "CUDA semantics: memory management".
 */
import type { Plan } from '../schema/index.ts';
import { stageMemoryItems } from './memory/index.ts';
import type { Problem } from './problem.ts';

/** Items that no allocator of the framework hands out, by their labels in memory.ts. */
const OUTSIDE: ReadonlySet<string> = new Set(['Device context', 'Collective library']);
const BETWEEN_BLOCKS = 'Allocator fragmentation';

export interface MeteredBytes {
  allocated: number;
  reserved: number;
  total: number;
}

/** Peak of a stage (0-based) as each meter reads it, bytes. The plan must be valid. */
export function meteredBytes(problem: Problem, plan: Plan, stageIndex: number): MeteredBytes {
  const metered = { allocated: 0, reserved: 0, total: 0 };
  for (const { label, bytes } of stageMemoryItems(problem, plan, stageIndex)) {
    metered.total += bytes;
    if (OUTSIDE.has(label)) continue;
    metered.reserved += bytes;
    if (label !== BETWEEN_BLOCKS) metered.allocated += bytes;
  }
  return metered;
}
