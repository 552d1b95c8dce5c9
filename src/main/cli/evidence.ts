import type { Planner } from '../services/planner.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printJson, type Terminal } from './terminal.ts';
import { formatTable, type Column } from './text/table.ts';

export interface EvidenceOptions {
  missing?: boolean;
  json?: boolean;
}

type Row = Awaited<ReturnType<Planner['evidenceRows']>>[number];

const percent = (fraction: number | null) =>
  fraction === null ? '–' : `${fraction >= 0 ? '+' : ''}${(100 * fraction).toFixed(1)} %`;
const seconds = (value: number | null) => (value === null ? '–' : value.toPrecision(4));

const predictedColumns: readonly Column<Row>[] = [
  { title: 'run', cell: ({ id }) => id, align: 'left', flex: true },
  { title: 'accelerators', cell: (row) => `${row.numAccelerators ?? '?'}×${row.accelerator}`, align: 'left', rank: 1 },
  { title: 'stack', cell: ({ stack }) => stack, align: 'left', rank: 2 },
  { title: 'predicted s', cell: ({ predicted }) => seconds(predicted.stepSeconds) },
  { title: 'measured s', cell: ({ measured }) => seconds(measured.stepSeconds) },
  { title: 'error', cell: ({ errorFraction }) => percent(errorFraction) },
  { title: 'counts', cell: ({ counts }) => (counts ? 'yes' : 'no'), align: 'left' },
];
const missingColumns: readonly Column<Row>[] = [
  { title: 'run', cell: ({ id }) => id, align: 'left' },
  { title: 'why there is no prediction', cell: ({ skipped }) => skipped ?? '', align: 'left', flex: true },
];

/** `trainyard evidence`: the record, predicted; or with `--missing`, what the other rows lack. */
export function evidence(terminal: Terminal, { missing = false, json = false }: EvidenceOptions): Promise<ExitCode> {
  return withPlanner({}, async (planner): Promise<ExitCode> => {
    const all = await planner.evidenceRows();
    const predicted = all.filter(({ skipped }) => skipped === null);
    const left = all.filter(({ skipped }) => skipped !== null);
    const rows = missing ? left : predicted;
    if (json) {
      printJson(terminal, { rows, recorded: all.length, predicted: predicted.length });
      return 0;
    }
    terminal.out(
      `${bold(terminal, `${all.length} measured runs are recorded; ${predicted.length} can be predicted.`)} Errors are those of ` +
        'the shipped calibration, which runs that count have set; "calibrate" gives errors of runs left out.\n\n',
    );
    terminal.out(formatTable(rows, missing ? missingColumns : predictedColumns, terminal.columns));
    return 0;
  });
}
