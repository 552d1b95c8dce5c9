/** `cases`: configurations with a known outcome, judged by our rules and memory, each with its reason. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { CalibrationSet } from '#shared/engine/index.ts';
import {
  defaultEtp,
  leastWorld,
  parseCasesText,
  readCase,
  type CaseReading,
  type CaseRow,
} from '#shared/formats/cases/index.ts';
import type { Presets } from '#shared/schema/index.ts';
import { parameterCounts, summarizeErrors } from '../../jobs/index.ts';
import { readTextFile } from '../files.ts';
import { goldenAnswer } from './golden.ts';
import { judge } from './judge.ts';
import { predict } from './predict.ts';
import type { CaseAnswer, CasesReport } from './types.ts';

export type { CaseAnswer, CasesReport } from './types.ts';

/** Folders, seen from a cases file, in which the configurations that it names lie. */
const CONFIG_FOLDERS = ['hf_configs', '../hf_configs', '.'];

/** Finds configurations by name beside a cases file; an upload in fp8 has the layers of the one it was made from. */
function configFinder(casesFile: string): (name: string) => string | null {
  const folders = CONFIG_FOLDERS.map((folder) => path.resolve(path.dirname(casesFile), folder));
  return (name) => {
    if (name.includes('/') || name.includes('\\')) return null;
    for (const folder of folders)
      for (const suffix of ['', '-FP8']) {
        const file = path.join(folder, `${name}${suffix}.json`);
        if (existsSync(file)) return readTextFile(file);
      }
    return null;
  };
}

interface Rated {
  answer: CaseAnswer;
  isMeasuredVerdict: boolean;
}

interface Tools {
  presets: Presets;
  calibration: CalibrationSet;
}

function answerOf(row: CaseRow, reading: CaseReading, { presets, calibration }: Tools): Rated {
  const { model, framework, degrees } = reading;
  const judged = judge(reading, () => predict(reading, presets, calibration), {
    leastWorld: leastWorld(degrees, defaultEtp(framework, degrees)),
    parameters: model.model === null ? model.parameters : parameterCounts(model.model).total,
  });
  const { predicted, right, reason, violations = [], memory = null } = judged;
  return {
    answer: {
      id: row.id,
      kind: row.outcome.kind,
      predicted,
      right,
      reason,
      violations,
      memory,
      assumed: reading.assumed,
    },
    isMeasuredVerdict: judged.isMeasuredVerdict === true && ['fits', 'oom'].includes(row.outcome.kind),
  };
}

function summaryOf(rated: readonly Rated[]): CasesReport['summary'] {
  const answers = rated.map(({ answer }) => answer);
  const byKind: Record<string, { count: number; right: number }> = {};
  for (const { kind, right } of answers) {
    const group = (byKind[kind] ??= { count: 0, right: 0 });
    group.count++;
    if (right) group.right++;
  }
  const verdicts = rated.filter(({ isMeasuredVerdict }) => isMeasuredVerdict);
  const errors = answers.flatMap(({ memory }) => memory?.errorFraction ?? []);
  return {
    count: answers.length,
    right: answers.filter(({ right }) => right).length,
    byKind,
    undetermined: answers.filter(({ predicted }) => predicted === 'depends').length,
    memory: summarizeErrors(errors),
    verdicts: { count: verdicts.length, right: verdicts.filter(({ answer }) => answer.right).length },
  };
}

/** Judges the rows of a cases file (its text and place). Throws AppError for a file that is none. */
export function judgeCases(text: string, casesFile: string, { presets, calibration }: Tools): CasesReport {
  const file = parseCasesText(text, casesFile);
  const sources = { presets: presets.models, accelerators: presets.accelerators, configText: configFinder(casesFile) };
  const rated = file.rows.map((row) => answerOf(row, readCase(row, file, sources), { presets, calibration }));
  const golden = file.golden.map((row) => goldenAnswer(row, file.inferred, { presets, calibration }));
  const all = [...rated, ...golden];
  return { rows: all.map(({ answer }) => answer), summary: summaryOf(all) };
}
