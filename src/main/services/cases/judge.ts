/** Whether what is predicted of a row agrees with what happened. */
import type { CaseReading } from '#shared/formats/cases/index.ts';
import { arithmetic } from './arithmetic.ts';
import { measuredOf } from './meters.ts';
import type { Predicted, Prediction } from './types.ts';

const accepts: readonly Predicted[] = ['fits', 'at_risk', 'accepted', 'depends'];
const refuses: readonly Predicted[] = ['rejected', 'silent_wrong', 'hang'];

/** Outcomes that a kind of record allows; kinds not listed are judged one by one. */
const allowed: Readonly<Record<string, readonly Predicted[]>> = {
  fits: accepts,
  oom: ['oom', 'depends'],
  oom_risk: ['oom', 'at_risk', 'depends'],
  host_oom: ['host_oom'],
  rejected: refuses,
  // refused or told, although a framework ran it
  silent_wrong: refuses,
  hang: refuses,
  // the plan is legal: what it lacks is speed
  slow: ['fits', 'at_risk'],
  advice: accepts,
};

export interface Judged extends Prediction {
  right: boolean;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Legal and nearest values that the record names must be among ours. */
function valuesFault({ row }: CaseReading, { violations = [] }: Prediction): string | null {
  const { valid_tp: validTp, nearest } = row.outcome as { valid_tp?: unknown; nearest?: Record<string, unknown> };
  const tp = violations.filter(({ path }) => path === 'tp');
  if (Array.isArray(validTp) && !tp.some(({ legal }) => same(legal, validTp)))
    return `the record names tp ${validTp.join(', ')} as valid`;
  for (const [field, value] of Object.entries(nearest ?? {})) {
    const wanted = (Array.isArray(value) ? value : [value]).map(String);
    const ours = violations.filter(({ path, message, nearest: near }) =>
      field === 'gbs' ? wanted.every((one) => message.includes(one)) : path === field && wanted.includes(String(near)),
    );
    if (ours.length === 0) return `the record names ${field} = ${wanted.join(', ')} as nearest`;
  }
  return null;
}

/** The fewest accelerators that a record names as needed by its split. */
function worldFault(reading: CaseReading, leastWorld: number): string | null {
  const least = reading.row.outcome.min_gpus;
  const isSplitGiven = !reading.missing.includes('the split');
  if (typeof least !== 'number' || !isSplitGiven || least === leastWorld) return null;
  return `its split needs ${leastWorld} accelerators, but the record says ${least}`;
}

/** What is said of a comparison of someone else's estimate with a measurement. */
function mismatch(reading: CaseReading): Judged {
  const { outcome, recompute, model_overrides: overrides } = reading.row;
  const layers = overrides?.pipeline_layers;
  if (Array.isArray(layers)) {
    const counts = layers.map(Number);
    const mean = counts.reduce((sum, one) => sum + one, 0) / counts.length;
    const [averaged, most] = [Number(outcome.averaged_mb), Number(outcome.true_max_mb)];
    const ratio = Math.max(...counts) / mean;
    const printed = most / averaged;
    return {
      predicted: 'computed',
      reason: `memory is told per rank and as its maximum: ranks of ${counts.join(', ')} layers hold up to ${ratio.toFixed(2)} times their mean; the record measured ${printed.toFixed(2)}`,
      right: ratio > 1 && Math.abs(ratio / printed - 1) < 0.1,
    };
  }
  const [without, withIt] = [outcome.without_gb, outcome.with_gb];
  if (typeof without === 'number' && typeof withIt === 'number' && /select/i.test(recompute ?? '')) {
    const saved = 1 - withIt / without;
    return {
      predicted: 'computed',
      reason: `recomputing core attention saves nothing where flash attention keeps no scores; the record saved ${(100 * saved).toFixed(1)} %`,
      right: saved < 0.05,
    };
  }
  const measured = measuredOf(reading);
  const estimated = outcome.estimated_gb;
  if (measured !== null && typeof estimated === 'number') {
    const least = 1.4 * 1.073741824; // device context and collective library alone (docs/MODEL.md §3.7)
    return {
      predicted: 'computed',
      reason: `${estimated} GB counts states only: device context and collective library alone take ${least.toFixed(1)} GB before any activation; measured up to ${(measured.bytes / 1e9).toFixed(1)} GB`,
      right: estimated < least && least * 1e9 <= measured.bytes,
    };
  }
  return { predicted: 'not_predicted', reason: 'the row states no configuration to compute', right: false };
}

/** Judges a row; `predict` is asked where its kind is about a configuration. */
export function judge(
  reading: CaseReading,
  predict: () => Prediction,
  { leastWorld, parameters }: { leastWorld: number; parameters: number | null },
): Judged {
  const { kind } = reading.row.outcome;
  if (kind === 'arithmetic') {
    const { isRight, ...prediction } = arithmetic(reading, parameters);
    return { ...prediction, right: isRight };
  }
  if (kind === 'estimate_mismatch') return mismatch(reading);
  const prediction = predict();
  const list = allowed[kind];
  if (list === undefined)
    return { ...prediction, right: false, reason: `kind ${kind} is not judged; ${prediction.reason}` };
  const fault = valuesFault(reading, prediction) ?? worldFault(reading, leastWorld);
  const right = list.includes(prediction.predicted) && fault === null;
  return { ...prediction, right, reason: fault === null ? prediction.reason : `${prediction.reason}; but ${fault}` };
}
