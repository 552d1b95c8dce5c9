/**
 * The record of measured runs that ships, predicted with the calibration in force. All rows are predicted together in a
 * worker thread, once per engine version and calibration.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { CalibrationSet } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { parseRunsText, readRun } from '#shared/formats/runs/index.ts';
import {
  findAccelerator,
  resolveScenario,
  type EvidenceDetail,
  type EvidenceRow,
  type Presets,
  type Run,
} from '#shared/schema/index.ts';
import { completePlan, describePlan, ENGINE_VERSION, evaluatePlan, toProblem } from '../../jobs/inline.ts';
import createEvidenceWorker from './evidence.worker.ts?nodeWorker';
import { evidenceRow, type RecordInputs } from './rows.ts';

function predictInThread(inputs: RecordInputs): Promise<EvidenceRow[]> {
  const { promise, resolve, reject } = Promise.withResolvers<EvidenceRow[]>();
  const thread = createEvidenceWorker({ workerData: inputs });
  thread.on('message', (rows: EvidenceRow[]) => resolve(rows));
  thread.on('error', reject);
  thread.on('exit', (code) => reject(new Error(`the thread that predicts the record ended with code ${code}`)));
  return promise;
}

export class EvidenceRecord {
  readonly #file: string;
  readonly #presets: Presets;
  #runs: Run[] | null = null;
  readonly #predicted = new Map<string, Promise<EvidenceRow[]>>();

  constructor(resourcesDir: string, { accelerators, models, clusters }: Presets) {
    this.#file = path.join(resourcesDir, 'evidence/runs.json');
    this.#presets = { accelerators, models, clusters };
  }

  /** Every recorded run as its source gives it. Throws AppError that names a damaged file. */
  get runs(): readonly Run[] {
    this.#runs ??= parseRunsText(readFileSync(this.#file, 'utf8'), this.#file);
    return this.#runs;
  }

  /** All rows, predicted; rows that cannot be come with the reason and the missing fields. */
  rows(calibration: CalibrationSet): Promise<EvidenceRow[]> {
    const key = createHash('sha256').update(ENGINE_VERSION).update(JSON.stringify(calibration)).digest('hex');
    const known = this.#predicted.get(key);
    if (known !== undefined) return known;
    const rows = predictInThread({ runs: this.runs, presets: this.#presets, calibration });
    this.#predicted.set(key, rows);
    rows.catch(() => this.#predicted.delete(key));
    return rows;
  }

  /** One row with its plan and parts. Throws AppError not-found. */
  detail(id: string, calibration: CalibrationSet): EvidenceDetail {
    const run = this.runs.find((one) => one.id === id);
    if (run === undefined)
      throw new AppError('not-found', `the record has no run "${id}"`, {
        path: 'id',
        remedy: 'Take an id from the list of runs.',
      });
    const row = evidenceRow(run, { presets: this.#presets, calibration });
    const recorded = { ...run } as Record<string, unknown>;
    const reading = readRun(run, this.#presets);
    if ('skipped' in reading || row.skipped !== null) return { row, recorded, plan: null, assumed: [], parts: null };
    const scenario = resolveScenario(reading.case.scenario, this.#presets);
    const accelerator = findAccelerator(this.#presets, scenario.cluster.accelerator);
    const problem = toProblem(scenario, accelerator, calibration);
    const { estimate } = evaluatePlan(problem, reading.case.plan);
    return {
      row,
      recorded,
      plan: describePlan(completePlan(problem, reading.case.plan)),
      assumed: [...reading.case.assumed, ...(estimate?.assumed ?? [])],
      parts: estimate?.parts ?? null,
    };
  }
}
