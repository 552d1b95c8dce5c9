import { formatSeconds } from '#shared/units.ts';
import {
  answerPlan,
  describePlan,
  withOverrides,
  type ListedPlan,
  type PlanAnswer,
  type PlanOverrides,
} from '../services/answers.ts';
import { openScenario, type OpenedScenario } from '../services/sources.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printAssumed, printJson, printWarnings, type Terminal } from './terminal.ts';
import { describeEstimate, formatPlans, formatWaterfall, shellPlan } from './text/plans.ts';
import { formatTable } from './text/table.ts';

export interface PlanOptions extends PlanOverrides {
  top: number;
  stats?: boolean;
  workers?: number;
  json?: boolean;
}

function progressLine(terminal: Terminal) {
  if (!terminal.isWatched) return { show: () => undefined, clear: () => undefined };
  return {
    show: ({ done, total }: { done: number; total: number }) =>
      terminal.err(`\r\u001b[KSearching ${total === 0 ? 100 : Math.floor((100 * done) / total)} %`),
    clear: () => terminal.err('\r\u001b[K'),
  };
}

/** How the best plan and the scenario's own compare, in one sentence. */
function comparison({ best, reference }: PlanAnswer): string {
  const [first] = best;
  if (reference === null || first === undefined) return '';
  const { estimate, label, rank, verdict } = reference;
  const name = label.startsWith('your ') ? label.replace('your', 'Your') : `The ${label}`;
  const own = `${name} (*) takes ${formatSeconds(estimate.stepSeconds)} a step`;
  if (verdict !== 'fits') return `${own}, but does not fit with the headroom asked for (${verdict}).\n`;
  if (rank === null) return `${own}, but is outside of the limits asked for.\n`;
  const gain = estimate.stepSeconds / first.estimate.stepSeconds - 1;
  if (first.reference === true) return `That is ${label.startsWith('your ') ? label : `the ${label}`}.\n`;
  const relation = gain > 0 ? `${(100 * gain).toFixed(1)} % slower than the best` : 'as fast as the best';
  return `${own}, ${relation}: rank ${rank} of the plans that fit.\n`;
}

function statsTable({ stats }: PlanAnswer, width: number): string {
  const ruledOut = Object.entries(stats.prunedByReason).sort((a, b) => b[1] - a[1]);
  const rows: [string, number][] = [
    ['covered', stats.enumerated],
    ...ruledOut.map(([reason, number]): [string, number] => [`ruled out: ${reason}`, number]),
    ['evaluated', stats.evaluated],
    ['fit', stats.feasible],
  ];
  const columns = [
    { title: 'plans', cell: (row: [string, number]) => row[0], align: 'left' as const },
    { title: 'number', cell: (row: [string, number]) => row[1].toLocaleString('en-US') },
  ];
  return formatTable(rows, columns, width);
}

const MOST_FRONTIER_ROWS = 8;

/** At most `most` items at equal distances, the last one among them. */
function sample<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  const step = items.length / most;
  return items.filter((_item, index) => Math.floor((index + 1) / step) > Math.floor(index / step));
}

function printNothingFits(terminal: Terminal, { whyEmpty, best }: PlanAnswer): void {
  terminal.out(`${bold(terminal, 'No plan fits.')}\n`);
  for (const reason of whyEmpty) terminal.out(`  - ${reason}\n`);
  if (best.length > 0) terminal.out(`\n${formatPlans(best, terminal.columns)}`);
}

function printBest(terminal: Terminal, answer: PlanAnswer, first: ListedPlan, planArguments: string): void {
  const { best, frontier, stats } = answer;
  const width = terminal.columns;
  terminal.out(`${bold(terminal, `${describePlan(first.plan)}:`)}\n${describeEstimate(first.estimate)}.\n`);
  terminal.out(`${comparison(answer)}\n${formatPlans(best, width)}`);
  terminal.out(`\nWhere a step of the best plan goes:\n${formatWaterfall(first.estimate, width)}`);
  const others = frontier.filter((plan) => !best.includes(plan));
  const shown = sample(others, MOST_FRONTIER_ROWS);
  const some = shown.length < others.length ? `, ${shown.length} of ${others.length} shown` : '';
  if (shown.length > 0)
    terminal.out(`\nSlower, but with less memory (the rest of the frontier${some}):\n${formatPlans(shown, width)}`);
  const workers = `${stats.workers} worker${stats.workers === 1 ? '' : 's'}`;
  terminal.out(
    `\n${stats.enumerated.toLocaleString('en-US')} plans covered in ${formatSeconds(stats.seconds)} by ${workers}; ` +
      `${stats.feasible.toLocaleString('en-US')} fit.\nThe best as arguments: ${shellPlan(planArguments)}\n`,
  );
}

interface Printed {
  opened: OpenedScenario;
  answer: PlanAnswer;
  argumentsOf: (plan: ListedPlan['plan']) => string;
}

function print(terminal: Terminal, { opened, answer, argumentsOf }: Printed, withStats: boolean): void {
  terminal.out(`${opened.scenario.name}\n`);
  const [first] = answer.best;
  printAssumed(terminal, [...opened.assumed, ...(first?.estimate.assumed ?? [])]);
  if (first === undefined || answer.stats.feasible === 0) printNothingFits(terminal, answer);
  else printBest(terminal, answer, first, argumentsOf(first.plan));
  if (withStats) terminal.out(`\n${statsTable(answer, terminal.columns)}`);
}

/** `trainyard plan SCENARIO`: the best plans and the frontier. Answers 1 where none fits. */
export function plan(terminal: Terminal, source: string, options: PlanOptions): Promise<ExitCode> {
  const workers = options.workers === undefined ? {} : { numWorkers: options.workers };
  return withPlanner(workers, async (planner) => {
    const opened = openScenario(planner, source);
    const scenario = withOverrides(opened.scenario, options);
    const line = progressLine(terminal);
    const answer = await answerPlan(planner, scenario, { top: options.top, onProgress: line.show });
    line.clear();
    printWarnings(terminal, [...opened.warnings, ...answer.warnings]);
    if (options.json) printJson(terminal, { scenario: scenario.name, assumed: opened.assumed, ...answer });
    else {
      const argumentsOf = (best: ListedPlan['plan']) => planner.argumentsOf(scenario, best);
      print(terminal, { opened, answer, argumentsOf }, options.stats === true);
    }
    return answer.stats.feasible > 0 ? 0 : 1;
  });
}
