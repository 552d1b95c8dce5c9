/** Predicted against measured: reads rows of measured runs, predicts each from the same constants, and sums up. */
import type { CalibrationSet, ErrorSummary } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { readRun } from '#shared/formats/runs/index.ts';
import { findAccelerator, resolveScenario, type Estimate, type Presets, type Run } from '#shared/schema/index.ts';
import { GB, GIB } from '#shared/units.ts';
import { evaluatePlan, summarizeErrors, toProblem } from '../jobs/inline.ts';

interface Measured {
  stepSeconds: number | null;
  peakMemoryBytes: number | null;
}

/** One row of the answer of `validate` (docs/FORMATS.md §7). `errorFraction` = predicted ÷ measured step time − 1. */
export interface ValidationRow {
  id: string;
  predicted: Measured;
  measured: Measured;
  errorFraction: number | null;
  memoryErrorFraction: number | null;
  assumed: string[];
  skipped?: string;
}

type GroupBy = 'kind' | 'accelerator' | 'framework' | 'source' | 'precision';

export interface ValidationGroup {
  by: GroupBy;
  key: string;
  stepTime: ErrorSummary;
  peakMemory: ErrorSummary;
}

export interface ValidationReport {
  rows: ValidationRow[];
  summary: {
    stepTime: ErrorSummary;
    peakMemory: ErrorSummary;
    groups: ValidationGroup[];
    skipped: number;
  };
}

/** What was measured: step time as printed or derived by the record; peak memory in GiB where the row says so, else GB. */
function measuredOf(run: Run): Measured {
  const { measured } = run;
  const stepSeconds = measured.step_s ?? measured.iter_s ?? null;
  const unit = /gib/i.test(measured.peak_mem_kind ?? '') ? GIB : GB;
  const peakMemoryBytes = measured.peak_mem_gb == null ? null : measured.peak_mem_gb * unit;
  return { stepSeconds: stepSeconds !== null && stepSeconds > 0 ? stepSeconds : null, peakMemoryBytes };
}

/** The predicted peak as the row's was read: from the framework's allocator where the row says so, else from the device. */
function asRead({ measured: { peak_mem_kind: kind } }: Run, estimate: Estimate): number {
  if (/reserved/i.test(kind ?? '')) return estimate.reservedMemoryBytes;
  return /allocated/i.test(kind ?? '') ? estimate.allocatedMemoryBytes : estimate.peakMemoryBytes;
}

function skippedRow(run: Run, measured: Measured, reason: string): ValidationRow {
  return {
    id: run.id,
    predicted: { stepSeconds: null, peakMemoryBytes: null },
    measured,
    errorFraction: null,
    memoryErrorFraction: null,
    assumed: [],
    skipped: reason,
  };
}

function errorOf(predicted: number, measured: number | null): number | null {
  return measured === null ? null : predicted / measured - 1;
}

/** Predicts one row; a row that lacks what is needed comes back with the reason. Never throws for a bad row. */
export function predictRow(run: Run, presets: Presets, calibration: CalibrationSet): ValidationRow {
  const measured = measuredOf(run);
  if (measured.stepSeconds === null && measured.peakMemoryBytes === null)
    return skippedRow(run, measured, 'neither step time nor peak memory was measured');
  const reading = readRun(run, presets);
  if ('skipped' in reading) return skippedRow(run, measured, reading.skipped);
  try {
    const scenario = resolveScenario(reading.case.scenario, presets);
    const problem = toProblem(scenario, findAccelerator(presets, scenario.cluster.accelerator), calibration);
    const { estimate, violations } = evaluatePlan(problem, reading.case.plan);
    if (estimate === null)
      return skippedRow(run, measured, violations.map((violation) => violation.message).join('; '));
    const peakMemoryBytes = asRead(run, estimate);
    return {
      id: run.id,
      predicted: { stepSeconds: estimate.stepSeconds, peakMemoryBytes },
      measured,
      errorFraction: errorOf(estimate.stepSeconds, measured.stepSeconds),
      memoryErrorFraction: errorOf(peakMemoryBytes, measured.peakMemoryBytes),
      assumed: [...reading.case.assumed, ...estimate.assumed],
    };
  } catch (error) {
    if (error instanceof AppError) return skippedRow(run, measured, error.message);
    throw error;
  }
}

const keyOf: Record<GroupBy, (run: Run) => string> = {
  kind: (run) => (run.model.moe == null ? 'dense' : 'moe'),
  accelerator: (run) => run.cluster.gpu ?? 'unknown',
  framework: (run) => run.framework ?? 'unknown',
  source: (run) => run.source?.title ?? 'unknown',
  precision: (run) => run.parallel.precision ?? 'unknown',
};

function numbers(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

function groupsOf(runs: readonly Run[], rows: readonly ValidationRow[]): ValidationGroup[] {
  const dimensions = Object.keys(keyOf) as GroupBy[];
  return dimensions.flatMap((by) => {
    const members = new Map<string, ValidationRow[]>();
    rows.forEach((row, index) => {
      const run = runs[index];
      if (run === undefined || row.skipped !== undefined) return;
      const key = keyOf[by](run);
      members.set(key, [...(members.get(key) ?? []), row]);
    });
    return [...members].map(([key, group]) => ({
      by,
      key,
      stepTime: summarizeErrors(numbers(group.map((row) => row.errorFraction))),
      peakMemory: summarizeErrors(numbers(group.map((row) => row.memoryErrorFraction))),
    }));
  });
}

/** The answer of `validate` (docs/FORMATS.md §7) for rows of measured runs, all predicted with the same calibration. */
export function validateRuns(runs: readonly Run[], presets: Presets, calibration: CalibrationSet): ValidationReport {
  const rows = runs.map((run) => predictRow(run, presets, calibration));
  return {
    rows,
    summary: {
      stepTime: summarizeErrors(numbers(rows.map((row) => row.errorFraction))),
      peakMemory: summarizeErrors(numbers(rows.map((row) => row.memoryErrorFraction))),
      groups: groupsOf(runs, rows),
      skipped: rows.filter((row) => row.skipped !== undefined).length,
    },
  };
}
