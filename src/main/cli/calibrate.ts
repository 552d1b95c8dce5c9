import type { CalibrationReport } from '../services/calibration/index.ts';
import { readTextFile, writeTextFile } from '../services/files.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printJson, type Terminal } from './terminal.ts';
import { formatTable, type Column } from './text/table.ts';

export interface CalibrateOptions {
  output?: string;
  force?: boolean;
  folds?: string;
  few?: number;
  json?: boolean;
}

type Validation = CalibrationReport['validation'];
type SituationRow = Validation['errors'][number];
type FoldRow = Validation['folds'][number];

const percent = (fraction: number | null, signed = false) =>
  fraction === null ? '–' : `${signed && fraction >= 0 ? '+' : ''}${(100 * fraction).toFixed(1)} %`;

const situationNames: Record<SituationRow['situation'], string> = {
  covered: 'stack measured',
  'new-source': 'new source, nothing of it measured',
  'few-rows-given': 'new source, a few of its rows given',
  'new-accelerator': 'new accelerator',
};

const situationColumns: readonly Column<SituationRow>[] = [
  { title: 'situation', cell: ({ situation }) => situationNames[situation], align: 'left', flex: true },
  { title: 'models', cell: ({ kind }) => (kind === 'moe' ? 'experts' : 'dense'), align: 'left' },
  { title: 'rows', cell: ({ rows }) => String(rows) },
  { title: 'median', cell: ({ medianApe }) => percent(medianApe) },
  { title: 'MAPE', cell: ({ mape }) => percent(mape) },
  { title: '90th pct.', cell: ({ p90Ape }) => percent(p90Ape) },
  { title: 'bias', cell: ({ bias }) => percent(bias, true) },
  { title: 'in 90 % band', cell: ({ coverage }) => percent(coverage) },
];

const foldColumns: readonly Column<FoldRow>[] = [
  { title: 'left out', cell: ({ key }) => key, align: 'left', flex: true },
  { title: 'models', cell: ({ kind }) => (kind === 'moe' ? 'experts' : 'dense'), align: 'left' },
  { title: 'rows', cell: ({ rows }) => String(rows) },
  { title: 'median', cell: ({ medianApe }) => percent(medianApe) },
  { title: 'MAPE', cell: ({ mape }) => percent(mape) },
  { title: 'bias', cell: ({ bias }) => percent(bias, true) },
];

function print(terminal: Terminal, { file, validation, left }: CalibrationReport, folds: string | undefined): void {
  const { errors, ranking, heldOut } = validation;
  const rows = heldOut['in-sample'].length;
  terminal.out(
    `${bold(terminal, `${rows} runs set ${Object.keys(file.parameters).length} constants and ${file.effects.length} effects.`)} ` +
      `${left.length} rows cannot serve.\n\nStep time of runs that were left out of the fit:\n`,
  );
  terminal.out(formatTable(errors, situationColumns, terminal.columns));
  terminal.out(
    `\nOrder of splits in ${ranking.groups} groups (${ranking.rows} runs): the best is within 3 % of the measured best in ` +
      `${percent(ranking.bestWithin3Percent)}, mean regret ${percent(ranking.meanRegret)}, ` +
      `Kendall's τ ${ranking.kendallTau?.toFixed(2) ?? '–'}.\n`,
  );
  if (folds === undefined) return;
  const chosen = validation.folds.filter(({ by }) => by === folds);
  terminal.out(`\n${formatTable(chosen, foldColumns, terminal.columns)}`);
}

/** `trainyard calibrate RUNS.json…`: fits, cross-validates, writes the calibration. */
export function calibrate(terminal: Terminal, files: readonly string[], options: CalibrateOptions): Promise<ExitCode> {
  return withPlanner({}, (planner) => {
    const texts = files.map((name) => ({ name, text: readTextFile(name) }));
    const report = planner.calibrate(texts, {
      ...(options.few === undefined ? {} : { rowsGiven: options.few }),
      onStage: (stage) => {
        if (!options.json) terminal.err(`fitting: ${stage}\n`);
      },
    });
    const { file, validation, left } = report;
    if (options.output !== undefined)
      writeTextFile(options.output, `${JSON.stringify(file, null, 2)}\n`, { force: options.force === true });
    if (options.json) {
      const { errors, folds, ranking, effects } = validation;
      printJson(terminal, { parameters: file.parameters, effects, folds, summary: errors, ranking, left });
    } else print(terminal, report, options.folds);
    return 0;
  });
}
