/** The same peak as different meters read it. */
import type { Plan } from '../schema/index.ts';
import { stageMemoryItems } from './memory/index.ts';
import type { Problem } from './problem.ts';

/** Bytes at the peak by who counts them. */
export interface MeteredBytes {
  /** Of tensors: PyTorch's `max_memory_allocated`. */
  allocated: number;
  /** Of the allocator's pool: `max_memory_reserved`, with what is lost between blocks. */
  reserved: number;
  /** Of the process: `nvidia-smi`, with the device context and the collective library's buffers. */
  total: number;
}

/** The peak of one accelerator of stage `stageIndex` (0-based) as each meter reads it. The plan must be valid. */
export function meteredBytes(problem: Problem, plan: Plan, stageIndex: number): MeteredBytes {
  const metered: MeteredBytes = { allocated: 0, reserved: 0, total: 0 };
  for (const { bytes, seenBy } of stageMemoryItems(problem, plan, stageIndex)) {
    metered.total += bytes;
    if (seenBy === 'device') continue;
    metered.reserved += bytes;
    if (seenBy === undefined) metered.allocated += bytes;
  }
  return metered;
}
