/** Megatron-Core's test records → a problem and a plan, and what the allocator of the last rank held at most. */
import { completePlan, type Problem } from '../../src/shared/engine/index.ts';
import { readGolden as readFlags, type GoldenRow } from '../../src/shared/formats/cases/index.ts';
import type { Plan } from '../../src/shared/schema/index.ts';
import { accelerators, problemOf } from './problem.ts';

export interface Measured {
  id: string;
  group: string;
  problem: Problem;
  plan: Plan;
  /** Stage that was read; null = the fullest. */
  stage: number | null;
  kind: 'allocated' | 'reserved' | 'total';
  measuredBytes: number;
  /** Bytes that stayed after the step, where known. */
  residentBytes: number | null;
}

/** A row, or why it can't be predicted. */
export function readGolden(row: GoldenRow): Measured | string {
  if (row.id.includes('grpo')) return 'reinforcement learning: several models on one device';
  if (row.id.includes('distill')) return 'distillation: two models on one device';
  if (row.id.includes('offloading')) return 'offloads activations by flags that the record leaves out';
  const reading = readFlags(row, accelerators);
  if ('skipped' in reading) return reading.skipped;
  if (!reading.isWorldKnown) return 'the record does not say over how many ranks the states are sharded';
  const { scenario, plan: input } = reading;
  const problem = problemOf(scenario.cluster.accelerator ?? '', {
    model: scenario.model,
    numAccelerators: row.gpus ?? 1,
    job: {
      ...scenario.job,
      precision: {
        weights: scenario.job.precision?.compute === 'fp16' ? 'fp16' : 'bf16',
        optimizer: 'adam-fp32',
        ...scenario.job.precision,
      },
    },
  });
  const plan = completePlan(problem, input);
  return {
    id: row.id.replace('mcore-golden/', ''),
    group: `golden ${row.id.split('/')[1] ?? ''}`,
    problem,
    plan,
    stage: plan.pp - 1,
    kind: 'allocated',
    measuredBytes: row.outcome.max_allocated_bytes ?? Number.NaN,
    residentBytes: row.outcome.allocated_bytes ?? null,
  };
}
