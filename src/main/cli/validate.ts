import type { ValidationReport } from '../services/validation.ts';
import { readCalibration } from '../services/sources.ts';
import { readTextFile } from '../services/files.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printJson, type Terminal } from './terminal.ts';
import { formatTable, type Column } from './text/table.ts';

export interface ValidateOptions {
  calibration?: string;
  json?: boolean;
}

type Row = ValidationReport['rows'][number];
type Group = ValidationReport['summary']['groups'][number];
type Errors = ValidationReport['summary']['stepTime'];

const percent = (fraction: number | null, signed = false) =>
  fraction === null ? '–' : `${signed && fraction >= 0 ? '+' : ''}${(100 * fraction).toFixed(1)} %`;
const seconds = (value: number | null) => (value === null ? '–' : value.toPrecision(4));
const gibibytes = (bytes: number | null) => (bytes === null ? '–' : (bytes / 2 ** 30).toFixed(1));

const HALF = 10;
/** An error of this size fills half of the bar. */
const FULL_ERROR = 0.25;

/** A bar from the middle: to the left where the prediction is too fast, to the right where it is too slow. */
function errorBar(fraction: number | null): string {
  if (fraction === null) return '';
  const length = Math.min(HALF, Math.round((Math.abs(fraction) / FULL_ERROR) * HALF));
  const left = fraction < 0 ? '█'.repeat(length) : '';
  const right = fraction > 0 ? '█'.repeat(length) : '';
  return `${left.padStart(HALF)}│${right}`;
}

const rowColumns: readonly Column<Row>[] = [
  { title: 'run', cell: ({ id }) => id, align: 'left' },
  { title: 'predicted s', cell: ({ predicted }) => seconds(predicted.stepSeconds) },
  { title: 'measured s', cell: ({ measured }) => seconds(measured.stepSeconds) },
  { title: 'error', cell: ({ errorFraction }) => percent(errorFraction, true) },
  { title: 'too fast │ too slow', cell: ({ errorFraction }) => errorBar(errorFraction), align: 'left', rank: 1 },
];
const memoryColumns: readonly Column<Row>[] = [
  { title: 'predicted GiB', cell: ({ predicted }) => gibibytes(predicted.peakMemoryBytes), rank: 2 },
  { title: 'measured GiB', cell: ({ measured }) => gibibytes(measured.peakMemoryBytes), rank: 2 },
];
const groupColumns: readonly Column<Group>[] = [
  { title: 'by', cell: ({ by }) => by, align: 'left' },
  { title: 'group', cell: ({ key }) => key, align: 'left', flex: true },
  { title: 'runs', cell: ({ stepTime }) => String(stepTime.count) },
  { title: 'MAPE', cell: ({ stepTime }) => percent(stepTime.mape) },
  { title: 'median', cell: ({ stepTime }) => percent(stepTime.medianApe) },
  { title: '90th pct.', cell: ({ stepTime }) => percent(stepTime.p90Ape) },
  { title: 'bias', cell: ({ stepTime }) => percent(stepTime.bias, true) },
];

function sentence(what: string, errors: Errors): string {
  if (errors.count === 0) return '';
  return (
    `${what} of ${errors.count} runs: mean absolute error ${percent(errors.mape)}, median ${percent(errors.medianApe)}, ` +
    `90th percentile ${percent(errors.p90Ape)}, bias ${percent(errors.bias, true)}.\n`
  );
}

const MOST_SKIPPED_ROWS = 20;

/** Why rows were skipped: one by one, or counted by reason where they are many. */
function skippedTable(skipped: readonly Row[], width: number): string {
  if (skipped.length <= MOST_SKIPPED_ROWS)
    return formatTable(
      skipped,
      [
        { title: 'skipped', cell: ({ id }) => id, align: 'left' },
        { title: 'why', cell: (row) => row.skipped ?? '', align: 'left', flex: true },
      ],
      width,
    );
  const counts = new Map<string, number>();
  for (const { skipped: reason = '' } of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return formatTable(
    [...counts].sort((a, b) => b[1] - a[1]),
    [
      { title: 'skipped', cell: ([, count]) => String(count) },
      { title: 'why', cell: ([reason]) => reason, align: 'left', flex: true },
    ],
    width,
  );
}

function print(terminal: Terminal, { rows, summary }: ValidationReport): void {
  const predicted = rows.filter((row) => row.skipped === undefined);
  const skipped = rows.filter((row) => row.skipped !== undefined);
  if (predicted.length === 0) terminal.out(`${bold(terminal, 'No run could be predicted.')}\n`);
  terminal.out(bold(terminal, sentence('Step time', summary.stepTime)));
  terminal.out(sentence('Peak memory', summary.peakMemory));
  const columns = summary.peakMemory.count > 0 ? [...rowColumns, ...memoryColumns] : rowColumns;
  if (predicted.length > 0) terminal.out(`\n${formatTable(predicted, columns, terminal.columns)}`);
  const groups = summary.groups.filter(({ stepTime }) => stepTime.count > 0);
  if (groups.length > 0) terminal.out(`\n${formatTable(groups, groupColumns, terminal.columns)}`);
  if (skipped.length > 0) terminal.out(`\n${skippedTable(skipped, terminal.columns)}`);
}

/** `trainyard validate RUNS.json`: predicted against measured. Answers 1 where no run could be predicted. */
export function validate(terminal: Terminal, file: string, options: ValidateOptions): Promise<ExitCode> {
  const calibration = options.calibration === undefined ? {} : { calibration: readCalibration(options.calibration) };
  return withPlanner(calibration, (planner) => {
    const report = planner.validate(readTextFile(file), file);
    if (options.json) printJson(terminal, report);
    else print(terminal, report);
    return report.rows.some((row) => row.skipped === undefined) ? 0 : 1;
  });
}
