/** Megatron-Core's test records → a problem and a plan, and what the allocator of the last rank held at most. */
import {
  MegatronArgs,
  modelOfArgs,
  planOfArgs,
  precisionOfArgs,
} from '../../src/shared/formats/cases/megatron-args.ts';
import { completePlan, type Problem } from '../../src/shared/engine/index.ts';
import type { Plan } from '../../src/shared/schema/index.ts';
import { problemOf } from './problem.ts';

export interface GoldenRow {
  id: string;
  framework: string;
  hardware: string;
  gpus: number | null;
  parallel: Record<string, number | string | null>;
  args: Record<string, unknown>;
  batch: { mbs: number | null; gbs: number | null; seq: number | null };
  outcome: { max_allocated_bytes: number; allocated_bytes: number };
}

export interface Measured {
  id: string;
  group: string;
  problem: Problem;
  plan: Plan;
  /** Stage that was read; null = the fullest. */
  stage: number | null;
  kind: 'allocated' | 'reserved' | 'device';
  measuredBytes: number;
  /** Bytes that stayed after the step, where known. */
  residentBytes: number | null;
}

const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** A row, or why it can't be predicted. */
export function readGolden(row: GoldenRow): Measured | string {
  const args = new MegatronArgs(row.args);
  const degree = (name: string) => number(row.parallel[name]) ?? 1;
  if (row.id.includes('grpo')) return 'reinforcement learning: several models on one device';
  if (row.id.includes('distill')) return 'distillation: two models on one device';
  if (row.id.includes('offloading')) return 'offloads activations by flags that the record leaves out';
  const tp = degree('tp');
  const pp = degree('pp');
  const cp = degree('cp');
  const ep = degree('ep');
  const etp = number(row.parallel['etp']) ?? (args.number('num-experts') === null ? 1 : tp);
  const gpus = row.gpus ?? Number(process.env['GPUS'] ?? 0);
  if (gpus === 0) return 'the number of accelerators is not recorded';
  const dp = gpus / (tp * pp * cp);
  const problem = problemOf(row.hardware, {
    model: modelOfArgs(args, tp),
    numAccelerators: gpus,
    job: {
      kind: 'training',
      globalBatchSize: args.number('global-batch-size') ?? row.batch.gbs ?? 1,
      seqLen: args.number('seq-length') ?? 1,
      precision: precisionOfArgs(args),
      framework: { family: 'megatron-lm', version: '2025' },
    },
  });
  const plan = completePlan(problem, planOfArgs(args, { tp, pp, cp, ep, etp, dp }));
  return {
    id: row.id.replace('mcore-golden/', ''),
    group: `golden ${row.id.split('/')[1] ?? ''}`,
    problem,
    plan,
    stage: pp - 1,
    kind: 'allocated',
    measuredBytes: row.outcome.max_allocated_bytes,
    residentBytes: row.outcome.allocated_bytes,
  };
}
