/** Rows of measured runs → what a calibration is fitted to, or why a row cannot serve. */
import type { CalibrationSet } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { readRun } from '#shared/formats/runs/index.ts';
import { findAccelerator, resolveScenario, type Presets, type Run } from '#shared/schema/index.ts';
import { completePlan, contextOf, StepModel, toProblem, violationsOf, type MeasuredCase } from '../../jobs/index.ts';

export interface CaseReading {
  cases: MeasuredCase[];
  /** Rows that cannot serve, with the reason. */
  left: { id: string; reason: string }[];
}

/** Which rows may set constants. */
export type Selection = 'counting' | 'own';

type Field = string | number | boolean | null | undefined;
const fields = (values: readonly Field[]) => values.map((value) => String(value ?? '–')).join(' · ');

/** Same model, accelerators, split, batch, precision and task: such rows stay in one fold. Source: MEASURE. */
function groupOf({ model, cluster, parallel, task }: Run): string {
  const { tp, pp, cp, ep, etp, vp, dp, mbs, gbs, precision, zero, recompute } = parallel;
  const split = [tp, pp, cp, ep, etp, vp, dp, mbs, gbs, zero, recompute];
  return fields([model.name, model.seq, cluster.gpu, cluster.total_gpus, ...split, precision, task]);
}

/** What splits are compared within: one source, release, model, cluster, batch, precision. Source: MEASURE. */
function rankGroupOf({ source, framework, framework_version: version, model, cluster, parallel, task }: Run): string {
  const job = [parallel.gbs, parallel.precision, task];
  return fields([source?.title, framework, version, model.name, model.seq, cluster.gpu, cluster.total_gpus, ...job]);
}

function reasonNotToCount(run: Run): string | null {
  if (run.quality !== 'A' && run.quality !== 'B') return `quality ${run.quality ?? 'unknown'}`;
  return (run.flags ?? []).length > 0 ? `flagged: ${(run.flags ?? []).join(', ')}` : null;
}

function caseOf(run: Run, selection: Selection, presets: Presets, calibration: CalibrationSet): MeasuredCase | string {
  const excluded = selection === 'counting' ? reasonNotToCount(run) : null;
  if (excluded !== null) return excluded;
  const measuredSeconds = run.measured.step_s ?? run.measured.iter_s ?? null;
  if (measuredSeconds === null || !(measuredSeconds > 0)) return 'no step time was measured';
  const reading = readRun(run, presets);
  if ('skipped' in reading) return reading.skipped;
  try {
    const scenario = resolveScenario(reading.case.scenario, presets);
    const problem = toProblem(scenario, findAccelerator(presets, scenario.cluster.accelerator), calibration);
    const plan = completePlan(problem, reading.case.plan);
    const [broken] = violationsOf(problem, plan);
    if (broken !== undefined) return broken.message;
    const context = contextOf(scenario, problem.device.id);
    return {
      id: run.id,
      kind: context.kind === 'moe' ? 'moe' : 'dense',
      context,
      framework: run.framework ?? 'unknown',
      source: run.source?.title ?? 'unknown',
      group: groupOf(run),
      rankGroup: rankGroupOf(run),
      measuredSeconds,
      predict: (parameters) =>
        new StepModel({ ...problem, calibration: { ...problem.calibration, parameters } }).cost(plan).stepSeconds,
    };
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** Rows that can be predicted, and the others with the reason. A run that is listed twice counts once. */
export function measuredCases(
  runs: readonly Run[],
  presets: Presets,
  calibration: CalibrationSet,
  selection: Selection = 'counting',
): CaseReading {
  const reading: CaseReading = { cases: [], left: [] };
  const seen = new Set<string>();
  for (const run of runs) {
    if (seen.has(run.id)) continue;
    seen.add(run.id);
    const found = caseOf(run, selection, presets, calibration);
    if (typeof found === 'string') reading.left.push({ id: run.id, reason: found });
    else reading.cases.push(found);
  }
  return reading;
}
