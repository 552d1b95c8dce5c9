import type { Figure, FigureLine } from '#shared/schema/index.ts';
import { formatIn } from '#shared/units.ts';
import { openScenario } from '../services/sources.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { planOf } from './evaluate.ts';
import { bold, printJson, printWarnings, type Terminal } from './terminal.ts';
import { formatTable } from './text/table.ts';

export interface ExplainOptions {
  plan?: string;
  depth: number;
  json?: boolean;
}

const headings: Readonly<Record<FigureLine['group'], string>> = {
  speed: 'Speed',
  memory: 'Memory',
  model: 'Model',
  communication: 'Communication',
  run: 'The whole run',
};

const valueText = ({ value, unit }: Pick<Figure, 'value' | 'unit'>) => (value === null ? '–' : formatIn(value, unit));

/** Figures that there are many of, like one per stage: the first and the last of them. */
const MOST_OF_A_KIND = 6;
function shortened(lines: readonly FigureLine[]): FigureLine[] {
  const kindOf = ({ id }: FigureLine) => id.replace(/\.\d+$/, '');
  return lines.filter((line) => {
    const own = lines.filter((other) => kindOf(other) === kindOf(line));
    return own.length <= MOST_OF_A_KIND || own.indexOf(line) < MOST_OF_A_KIND / 2 || line === own.at(-1);
  });
}

function printList(terminal: Terminal, lines: readonly FigureLine[]): void {
  for (const [group, heading] of Object.entries(headings)) {
    const own = shortened(lines.filter((line) => line.group === group));
    if (own.length === 0) continue;
    terminal.out(`\n${bold(terminal, heading)}\n`);
    const columns = [
      { title: 'number', cell: ({ id }: FigureLine) => id, align: 'left' as const },
      { title: 'value', cell: valueText },
      { title: 'what', cell: ({ label }: FigureLine) => label, align: 'left' as const, flex: true, rank: 1 },
    ];
    terminal.out(formatTable(own, columns, terminal.columns));
  }
  terminal.out('\nOpen one with: trainyard explain SCENARIO NUMBER, e.g. mfu or stepSeconds/pipeline.\n');
}

/** Words broken into lines of at most `width`, each after `indent`. */
function wrapped(text: string, width: number, indent: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && indent.length + last.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.map((line) => `${indent}${line}\n`).join('');
}

function printFigure(terminal: Terminal, figure: Figure, depth: { left: number; at: number }): void {
  const indent = '  '.repeat(depth.at);
  const { columns } = terminal;
  const name = depth.at === 0 ? bold(terminal, figure.label) : figure.label;
  terminal.out(`${indent}${name}: ${valueText(figure)}${depth.at === 0 ? '' : `  (${figure.id})`}\n`);
  const inner = `${indent}    `;
  if (figure.about !== '') terminal.out(wrapped(figure.about, columns, inner));
  if (figure.formula !== '') terminal.out(wrapped(`= ${figure.formula}`, columns, inner));
  for (const input of figure.inputs)
    terminal.out(
      `${inner}${input.label} = ${formatIn(input.value, input.unit)}${input.figure === undefined ? '' : `  [${input.figure}]`}\n`,
    );
  terminal.out(wrapped(`Source: ${figure.source}`, columns, inner));
  if (depth.left <= 0) {
    if (figure.children.length > 0) terminal.out(`${inner}${figure.children.length} parts: open ${figure.id}\n`);
    return;
  }
  for (const child of figure.children) printFigure(terminal, child, { left: depth.left - 1, at: depth.at + 1 });
}

/** `trainyard explain SCENARIO [NUMBER]`: a number of a plan with its formula, inputs, source and parts. */
export function explain(
  terminal: Terminal,
  source: string,
  figure: string | undefined,
  options: ExplainOptions,
): Promise<ExitCode> {
  return withPlanner({}, (planner) => {
    const opened = openScenario(planner, source);
    const plan = planOf(opened, options.plan);
    printWarnings(terminal, opened.warnings);
    if (figure === undefined) {
      const figures = planner.figures(opened.scenario, plan);
      if (options.json) printJson(terminal, { scenario: opened.scenario.name, figures });
      else printList(terminal, figures);
      return 0;
    }
    const found = planner.explain(opened.scenario, plan, figure);
    if (options.json) printJson(terminal, { scenario: opened.scenario.name, figure: found });
    else printFigure(terminal, found, { left: options.depth, at: 0 });
    return 0;
  });
}
