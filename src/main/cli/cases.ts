import { readTextFile } from '../services/files.ts';
import type { CasesReport } from '../services/cases/index.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printJson, type Terminal } from './terminal.ts';
import { formatTable, type Column } from './text/table.ts';

export interface CasesOptions {
  wrong?: boolean;
  json?: boolean;
}

type Row = CasesReport['rows'][number];

const percent = (fraction: number | null) => (fraction === null ? '–' : `${(100 * fraction).toFixed(1)} %`);
const gibibytes = (value: number | null | undefined) => (value == null ? '' : value.toFixed(2));

const columns: readonly Column<Row>[] = [
  { title: 'case', cell: ({ id }) => id, align: 'left' },
  { title: 'happened', cell: ({ kind }) => kind, align: 'left' },
  { title: 'predicted', cell: ({ predicted }) => predicted, align: 'left' },
  { title: 'right', cell: ({ right }) => (right ? 'yes' : 'NO') },
  { title: 'GiB', cell: ({ memory }) => gibibytes(memory?.predictedGiB), rank: 1 },
  { title: 'measured', cell: ({ memory }) => gibibytes(memory?.measuredGiB), rank: 1 },
  { title: 'why', cell: ({ reason }) => reason, align: 'left', flex: true },
];

function print(terminal: Terminal, { rows, summary }: CasesReport, onlyWrong: boolean): void {
  const listed = onlyWrong ? rows.filter(({ right }) => !right) : rows;
  if (listed.length > 0) terminal.out(`${formatTable(listed, columns, terminal.columns)}\n`);
  terminal.out(bold(terminal, `${summary.right} of ${summary.count} cases judged right.\n`));
  const kinds = Object.entries(summary.byKind).map(([kind, { count, right }]) => `${kind} ${right}/${count}`);
  terminal.out(`By kind: ${kinds.join(', ')}.\n`);
  if (summary.undetermined > 0)
    terminal.out(`${summary.undetermined} hang on what their rows leave out: both outcomes are possible.\n`);
  const { memory, verdicts } = summary;
  if (verdicts.count > 0)
    terminal.out(`Verdicts from computed memory: ${verdicts.right} of ${verdicts.count} right.\n`);
  if (memory.count > 0)
    terminal.out(
      `Memory of ${memory.count} measured: median error ${percent(memory.medianApe)}, 90th percentile ${percent(memory.p90Ape)}, bias ${percent(memory.bias)}.\n`,
    );
}

/** `trainyard cases CASES.json`: known outcomes against ours. Answers 1 where one is judged otherwise. */
export function cases(terminal: Terminal, file: string, options: CasesOptions): Promise<ExitCode> {
  return withPlanner({}, (planner) => {
    const report = planner.cases(readTextFile(file), file);
    if (options.json) printJson(terminal, report);
    else print(terminal, report, options.wrong === true);
    return report.summary.right === report.summary.count ? 0 : 1;
  });
}
