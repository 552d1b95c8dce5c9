/** Runs of Megatron-Core's functional tests: the allocator's peak of the last rank against ours. */
import type { CalibrationSet } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { readGolden, type CasesFile, type GoldenRow } from '#shared/formats/cases/index.ts';
import { findAccelerator, resolveScenario, type Presets } from '#shared/schema/index.ts';
import { GIB } from '#shared/units.ts';
import { evaluatePlan, meteredBytes, toProblem } from '../../jobs/index.ts';
import { comparison } from './meters.ts';
import type { CaseAnswer } from './types.ts';

interface Rated {
  answer: CaseAnswer;
  isMeasuredVerdict: boolean;
}

/** A prediction this near to the measured peak counts as right. */
const NEAR = 0.1;

export function goldenAnswer(
  row: GoldenRow,
  inferred: CasesFile['inferred'],
  { presets, calibration }: { presets: Presets; calibration: CalibrationSet },
): Rated {
  const base = { id: row.id, kind: row.outcome.kind, violations: [], memory: null, assumed: [] };
  const refuse = (reason: string): Rated => ({
    answer: { ...base, predicted: 'not_predicted', right: false, reason },
    isMeasuredVerdict: false,
  });
  const reading = readGolden(row, presets.accelerators, inferred);
  if ('skipped' in reading) return refuse(reading.skipped);
  try {
    const scenario = resolveScenario(reading.scenario, presets);
    const problem = toProblem(scenario, findAccelerator(presets, scenario.cluster.accelerator), calibration);
    const { plan, estimate, violations } = evaluatePlan(problem, reading.plan);
    if (estimate === null) {
      const isUnplanned = violations.every(({ rule }) => rule === 'not-modelled');
      const reason = violations.map(({ message }) => message).join('; ');
      if (isUnplanned) return refuse(reason);
      return { answer: { ...base, predicted: 'rejected', right: false, reason, violations }, isMeasuredVerdict: true };
    }
    const peak = row.outcome.max_allocated_bytes ?? null;
    const measured = peak === null || !reading.isWorldKnown ? null : { meter: 'allocated' as const, bytes: peak };
    const bytes = meteredBytes(problem, plan, plan.pp - 1).allocated;
    const memory = comparison(bytes, 'allocated', measured);
    const error = memory.errorFraction;
    const reason =
      `last rank: ${(bytes / GIB).toFixed(3)} GiB of tensors at the peak` +
      (error === null && peak !== null
        ? ` on the fewest ranks that hold the split, measured ${(peak / GIB).toFixed(3)} GiB`
        : '') +
      (error === null ? '' : `, measured ${((peak ?? 0) / GIB).toFixed(3)} GiB (${(100 * error).toFixed(1)} %)`);
    // more ranks than the fewest shard the states further: then ours is an upper bound
    const right = error === null ? peak === null || bytes >= peak * (1 - NEAR) : Math.abs(error) <= NEAR;
    return {
      answer: { ...base, predicted: 'fits', right, reason, memory, assumed: reading.assumed },
      isMeasuredVerdict: true,
    };
  } catch (error) {
    if (error instanceof AppError)
      return refuse(error.issues.length > 0 ? error.issues.map(({ message }) => message).join('; ') : error.message);
    throw error;
  }
}
