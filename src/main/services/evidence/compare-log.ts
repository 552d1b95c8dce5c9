/** What a training log measured against what is predicted for its plan. */
import type { Problem } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { readTrainingLog, stepOfLog } from '#shared/formats/runs/logs/index.ts';
import type { LogComparison, PlanInput, Scenario } from '#shared/schema/index.ts';
import { evaluatePlan } from '../../jobs/inline.ts';

/** Throws AppError wrong-format for a log without a known line, bad-request for a plan that breaks a rule. */
export function compareLog(
  problem: Problem,
  { job, cluster }: Scenario,
  { plan, text }: { plan: PlanInput; text: string },
): LogComparison {
  const { allocatedBytes, reservedBytes, globalBatchSize, caution, ...log } = readTrainingLog(text);
  const { stepSeconds, differs } = stepOfLog(
    { ...log, allocatedBytes, reservedBytes, globalBatchSize, caution },
    {
      globalBatchSize: job.globalBatchSize,
      seqLen: job.seqLen,
      numAccelerators: cluster.numAccelerators,
    },
  );
  const { estimate, violations } = evaluatePlan(problem, plan);
  if (estimate === null)
    throw new AppError(
      'bad-request',
      `the plan breaks a rule: ${violations.map(({ message }) => message).join('; ')}`,
      {
        path: 'plan',
        remedy: 'Give the split that the log was written with.',
      },
    );
  // like is compared with like: the pool where the log states it, else the tensors in it
  const predictedBytes = reservedBytes === null ? estimate.allocatedMemoryBytes : estimate.reservedMemoryBytes;
  const measuredBytes = reservedBytes ?? allocatedBytes;
  return {
    ...log,
    measured: { stepSeconds, peakMemoryBytes: measuredBytes },
    predicted: { stepSeconds: estimate.stepSeconds, peakMemoryBytes: predictedBytes },
    errorFraction: estimate.stepSeconds / stepSeconds - 1,
    memoryErrorFraction: measuredBytes === null ? null : predictedBytes / measuredBytes - 1,
    notes: [...differs, ...(caution === null ? [] : [caution])],
  };
}
