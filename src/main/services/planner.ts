/**
 * Planning without a library: the catalog, the calibration and the worker threads behind a few questions. The window,
 * the browser door and the command line all ask here; only the first two also keep what they find.
 */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '#shared/engine/index.ts';
import type { Evaluation, Preview } from '#shared/contract.ts';
import { checkChoices, formatPlanArgs } from '#shared/formats/plan-args.ts';
import { parseRunsText } from '#shared/formats/runs/index.ts';
import {
  calibrationFileSchema,
  findAccelerator,
  parseScenarioValue,
  resolveScenario,
  type CalibrationFile,
  type Catalog,
  type EvidenceDetail,
  type EvidenceRow,
  type Figure,
  type FigureLine,
  type LogComparison,
  type NearestEvidence,
  type Plan,
  type PlanInput,
  type Scenario,
  type ScenarioInput,
  type Timeline,
} from '#shared/schema/index.ts';
import { formatPercent } from '#shared/units.ts';
import { z } from 'zod';
import {
  completePlan,
  contextOf,
  ENGINE_VERSION,
  evaluatePlan,
  nearestEvidence,
  parameterCounts,
  problemTotals,
  SearchPool,
  toCalibration,
  timelineOf,
  toProblem,
  type FoldKind,
  type RunningSearch,
  type SearchProgress,
} from '../jobs/index.ts';
import { loadCatalog, readResource } from './catalog.ts';
import { calibrateRuns, type CalibrationReport } from './calibration/index.ts';
import { compareLog } from './evidence/compare-log.ts';
import { EvidenceRecord } from './evidence/index.ts';
import { listFigures, openFigure } from './explain.ts';
import { judgeCases, type CasesReport } from './cases/index.ts';
import { validateRuns, type ValidationReport } from './validation.ts';

export interface PlannerOptions {
  /** The folder with catalog, calibration and examples. */
  resourcesDir: string;
  /** Worker threads of a search; one per core where absent. */
  numWorkers?: number;
  /** A calibration in place of the shipped one. */
  calibration?: CalibrationFile;
}

export interface SearchRequest {
  top: number;
  onProgress?: (progress: SearchProgress) => void;
}

/** The engine checks what it reads of the curves; here only the kind of file is looked at. */
const kernelCurvesSchema = z.custom<Parameters<typeof toCalibration>[1]>(
  (value) =>
    z.looseObject({ format: z.literal('trainyard/kernel-curves'), version: z.literal(1) }).safeParse(value).success,
  'is no kernel curves file',
);

/** How the calibration did on measured runs, in one sentence. */
function evidenceOf({ errors, date }: CalibrationFile): string {
  const stated = (situation: 'covered' | 'new-source') =>
    errors
      .filter((error) => error.situation === situation)
      .map(({ kind, mape, rows }) => `${formatPercent(mape)} for ${rows} ${kind === 'moe' ? 'with experts' : 'dense'}`)
      .join(', ');
  if (errors.length === 0) return `Constants of ${date} that no measured run has set yet.`;
  return (
    `Mean error of step time on runs left out of the fit (${date}): ${stated('covered')} where the stack was measured; ` +
    `${stated('new-source')} where nothing of the source was.`
  );
}

export class Planner {
  readonly catalog: Catalog;
  readonly calibration: CalibrationFile;
  readonly evidence: string;
  readonly #engineCalibration: ReturnType<typeof toCalibration>;
  readonly #pool: SearchPool;
  readonly #record: EvidenceRecord;

  /** Reads the shipped data. Throws AppError that names a damaged file. */
  constructor({ resourcesDir, numWorkers, calibration }: PlannerOptions) {
    const file = (name: string) => path.join(resourcesDir, 'calibration', name);
    this.catalog = loadCatalog(resourcesDir);
    this.calibration = calibration ?? readResource(calibrationFileSchema, file('step-time.json'));
    this.evidence = evidenceOf(this.calibration);
    this.#engineCalibration = toCalibration(this.calibration, readResource(kernelCurvesSchema, file('kernels.json')));
    this.#pool = new SearchPool(numWorkers);
    this.#record = new EvidenceRecord(resourcesDir, this.catalog);
  }

  get numWorkers(): number {
    return this.#pool.numWorkers;
  }

  /** Presets and defaults filled in, every field checked. Throws AppError with every fault. */
  resolve(input: ScenarioInput): Scenario {
    const scenario = resolveScenario(input, this.catalog);
    const { pin, exclude } = scenario.constraints;
    return {
      ...scenario,
      constraints: {
        ...scenario.constraints,
        pin: checkChoices(pin, 'constraints.pin'),
        exclude: checkChoices(exclude, 'constraints.exclude'),
      },
    };
  }

  /** As `resolve`, for something that is not yet known to be a scenario. */
  resolveValue(value: unknown, what = 'scenario'): Scenario {
    return this.resolve(parseScenarioValue(value, what));
  }

  problemOf(scenario: Scenario): Problem {
    const accelerator = findAccelerator(this.catalog, scenario.cluster.accelerator);
    return toProblem(scenario, accelerator, this.#engineCalibration, this.#labelOf(scenario));
  }

  /** What the scenario's own plan is called: an example's plan keeps its name as long as its question is the same. */
  #labelOf({ model, cluster, job, plan }: Scenario): string {
    const same = this.catalog.examples.find(
      ({ scenario }) =>
        isDeepStrictEqual(scenario.plan, plan) &&
        isDeepStrictEqual(scenario.model, model) &&
        isDeepStrictEqual(scenario.job, job) &&
        scenario.cluster.accelerator === cluster.accelerator &&
        scenario.cluster.numAccelerators === cluster.numAccelerators,
    );
    return same?.planLabel ?? 'your plan';
  }

  evaluate(scenario: Scenario, plan: PlanInput): Evaluation {
    return evaluatePlan(this.problemOf(scenario), plan);
  }

  /** All numbers of a plan that can be opened. Throws AppError for a plan that breaks a rule. */
  figures(scenario: Scenario, plan: PlanInput): FigureLine[] {
    return listFigures(this.problemOf(scenario), plan);
  }

  /** One of them, or a part of it (`stepSeconds/pipeline`). Throws AppError where the plan has none of that name. */
  explain(scenario: Scenario, plan: PlanInput, path: string): Figure {
    return openFigure(this.problemOf(scenario), plan, path);
  }

  /** Every pass of a plan's pipeline; null for one stage or a broken rule. */
  timeline(scenario: Scenario, plan: PlanInput): Timeline | null {
    return timelineOf(this.problemOf(scenario), plan);
  }

  /** A plan as the value of `--plan`; `evaluate` of it gives the same plan. */
  argumentsOf(scenario: Scenario, plan: Plan): string {
    const problem = this.problemOf(scenario);
    return formatPlanArgs(plan, (input) => completePlan(problem, input));
  }

  preview(scenario: Scenario): Preview {
    return problemTotals(this.problemOf(scenario));
  }

  /** Predicts measured runs (the text of a runs file). Throws AppError for a file that is none. */
  validate(text: string, what: string): ValidationReport {
    return validateRuns(parseRunsText(text, what), this.catalog, this.#engineCalibration);
  }

  /** The record of measured runs beside what is predicted for them; computed once, in a worker thread. */
  evidenceRows(): Promise<EvidenceRow[]> {
    return this.#record.rows(this.#engineCalibration);
  }

  /** One of them with its plan and parts. Throws AppError not-found. */
  evidenceDetail(id: string): EvidenceDetail {
    return this.#record.detail(id, this.#engineCalibration);
  }

  /** The measured runs that are most like a scenario's plans. */
  async nearestEvidence(scenario: Scenario, count: number): Promise<NearestEvidence> {
    const { accelerator, precision, kind } = contextOf(scenario, this.problemOf(scenario).device.id);
    const query = {
      accelerator,
      precision,
      kind: kind === 'moe' ? ('moe' as const) : ('dense' as const),
      stack: scenario.job.framework.stack ?? null,
      parameters: parameterCounts(scenario.model).total,
      numAccelerators: scenario.cluster.numAccelerators,
      seqLen: scenario.job.seqLen,
    };
    return nearestEvidence(query, await this.evidenceRows(), count);
  }

  /** A training log beside the prediction of its plan. Throws AppError for a log or plan that cannot be read. */
  compareLog(scenario: Scenario, plan: PlanInput, text: string): LogComparison {
    return compareLog(this.problemOf(scenario), scenario, { plan, text });
  }

  /** Fits the constants to measured runs (texts of runs files) and cross-validates. Throws AppError for bad files. */
  calibrate(
    files: readonly { name: string; text: string }[],
    options: { rowsGiven?: number; onStage?: (stage: FoldKind) => void } = {},
  ): CalibrationReport {
    const runs = files.flatMap(({ name, text }) => parseRunsText(text, name));
    return calibrateRuns(runs, {
      presets: this.catalog,
      calibration: this.#engineCalibration,
      previous: this.calibration,
      date: new Date().toISOString().slice(0, 10),
      ...options,
    });
  }

  /** Judges configurations with a known outcome (the text of a cases file). Throws AppError for a file that is none. */
  cases(text: string, file: string): CasesReport {
    return judgeCases(text, file, { presets: this.catalog, calibration: this.#engineCalibration });
  }

  search(scenario: Scenario, { top, onProgress }: SearchRequest): RunningSearch {
    return this.#pool.start(this.problemOf(scenario), { top, ...(onProgress === undefined ? {} : { onProgress }) });
  }

  /** Ends the worker threads; searches that still run end as cancelled. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

export { ENGINE_VERSION };
