/** Rows of the record → rows of the answer: predicted, measured, what is missing. Runs in a worker thread. */
import type { CalibrationSet } from '#shared/engine/index.ts';
import { readRun, type RunReading } from '#shared/formats/runs/index.ts';
import { resolveScenario, type EvidenceRow, type Presets, type Run } from '#shared/schema/index.ts';
import { parameterCounts } from '../../jobs/inline.ts';
import { predictRow } from '../validation.ts';

export interface RecordInputs {
  runs: readonly Run[];
  presets: Presets;
  calibration: CalibrationSet;
}

/** First match wins. */
const precisions: readonly (readonly [RegExp, string])[] = [
  [/fp4/i, 'fp4'],
  [/fp8/i, 'fp8'],
  [/fp16|float16|\bhalf\b/i, 'fp16'],
  [/bf16|bfloat16/i, 'bf16'],
];

function precisionOf({ parallel: { precision } }: Run, reading: RunReading): string {
  const read = 'case' in reading ? reading.case.scenario.job.precision?.compute : undefined;
  return read ?? precisions.find(([name]) => name.test(precision ?? ''))?.[1] ?? 'unknown';
}

function splitOf({ parallel }: Run): string {
  const { tp, pp, cp, ep, dp, vp, mbs } = parallel;
  const named = Object.entries({ tp, pp, cp, ep, dp, vpp: vp, mbs });
  return named.flatMap(([name, value]) => (value == null ? [] : [`${name}=${value}`])).join(' ');
}

/** "Llama 3.1 405B", "LLAMA3-70B" and "llama2" are all llama; "DeepSeekV3" is deepseek. */
export function familyOf(name: string): string {
  return /[a-z]+?(?=v?\d|[^a-z]|$)/i.exec(name)?.[0].toLowerCase() ?? 'unknown';
}

function countsOf({ quality, flags }: Run, measuredSeconds: number | null): boolean {
  return (quality === 'A' || quality === 'B') && (flags ?? []).length === 0 && measuredSeconds !== null;
}

function parametersOf(reading: RunReading, presets: Presets): number | null {
  if (!('case' in reading)) return null;
  return parameterCounts(resolveScenario(reading.case.scenario, presets).model).total;
}

export function evidenceRow(run: Run, { presets, calibration }: Omit<RecordInputs, 'runs'>): EvidenceRow {
  const reading = readRun(run, presets);
  const row = predictRow(run, presets, calibration);
  const read = 'case' in reading ? reading.case.scenario : null;
  const framework = run.framework ?? 'unknown';
  const { predicted, measured, errorFraction, memoryErrorFraction } = row;
  return {
    id: run.id,
    source: {
      title: run.source?.title ?? 'unknown',
      url: run.source?.url ?? null,
      where: run.source?.where ?? null,
    },
    framework,
    stack: read?.job.framework?.stack ?? framework,
    task: run.task ?? 'unknown',
    model: run.model.name ?? 'unknown',
    family: familyOf(run.model.name ?? ''),
    kind: run.model.moe == null ? 'dense' : 'moe',
    parameters: row.skipped === undefined ? parametersOf(reading, presets) : null,
    accelerator: read?.cluster.accelerator ?? run.cluster.gpu ?? 'unknown',
    numAccelerators: run.cluster.total_gpus ?? null,
    precision: precisionOf(run, reading),
    seqLen: run.model.seq ?? null,
    globalBatchSize: run.parallel.gbs ?? null,
    split: splitOf(run),
    quality: run.quality ?? 'unknown',
    flags: (run.flags ?? []).map(String),
    counts: countsOf(run, measured.stepSeconds),
    predicted,
    measured,
    errorFraction,
    memoryErrorFraction,
    missing: 'skipped' in reading ? (reading.missing ?? []) : [],
    skipped: row.skipped ?? null,
  };
}

export function evidenceRows({ runs, ...inputs }: RecordInputs): EvidenceRow[] {
  return runs.map((run) => evidenceRow(run, inputs));
}
