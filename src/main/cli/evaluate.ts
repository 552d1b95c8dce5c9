import type { Evaluation } from '#shared/contract.ts';
import { AppError } from '#shared/errors.ts';
import type { PlanInput, Scenario, Violation } from '#shared/schema/index.ts';
import { formatBytes, formatIn, formatSeconds } from '#shared/units.ts';
import { describePlan } from '../services/answers.ts';
import type { Planner } from '../services/planner.ts';
import { openPlan, openScenario, type OpenedScenario } from '../services/sources.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { bold, printAssumed, printJson, printWarnings, type Terminal } from './terminal.ts';
import { describeEstimate, formatMemory, formatMoments, formatWaterfall, shellPlan } from './text/plans.ts';
import { formatTable } from './text/table.ts';

export interface EvaluateOptions {
  plan?: string;
  json?: boolean;
}

interface Answer {
  opened: OpenedScenario;
  evaluation: Evaluation;
  nearestArguments: string;
  /** The run with failures and checkpoints, in sentences. */
  wholeRun: string[];
}

const verdictWords = {
  fits: 'fits',
  'at-risk': 'may run out of memory: it fits, but not with the headroom asked for',
  'out-of-memory': 'runs out of memory',
} as const;

/** The plan that `--plan` gives, else the scenario's own. Throws AppError where there is none. */
export function planOf({ scenario }: OpenedScenario, text: string | undefined): PlanInput {
  if (text !== undefined) return openPlan(text);
  if (scenario.plan !== null) return scenario.plan;
  throw new AppError('bad-usage', 'there is no plan to evaluate: the scenario has none', {
    path: '--plan',
    remedy: 'Give one, e.g. --plan tp=8,pp=2,recompute.mode=full.',
  });
}

/** Days, cost and energy with what interrupts a run, and its tokens against compute-optimal; empty without tokens. */
function describeRun(planner: Planner, scenario: Scenario, plan: PlanInput): string[] {
  const told = (id: string): string | null => {
    const { value, unit } = planner.explain(scenario, plan, id);
    return value === null ? null : formatIn(value, unit);
  };
  const days = told('daysWithFailures');
  if (days === null) return [];
  const rest = [told('costWithFailures'), told('energyKwh')].filter((text) => text !== null);
  return [
    `With failures and checkpoints: ${[days, ...rest].join(', ')}; ${told('goodput') ?? ''} of the time is work.`,
    `${told('tokensPerParameter') ?? ''} tokens per active parameter; compute-optimal are ${told('computeOptimalTokens') ?? ''} tokens.`,
  ];
}

function describeViolation({ message, path, legal }: Violation): string {
  const choices = legal.slice(0, 12).map(String).join(', ');
  const more = legal.length > 12 ? ', …' : '';
  const remedy = legal.length > 0 ? `Legal here: ${path} = ${choices}${more}.` : `No value of ${path} alone mends it.`;
  return `  - ${message}. ${remedy}\n`;
}

function printInvalid(terminal: Terminal, answer: Answer): void {
  const { plan, violations, nearestPlan } = answer.evaluation;
  terminal.out(`${bold(terminal, `${describePlan(plan)} is not valid.`)}\n`);
  for (const violation of violations) terminal.out(describeViolation(violation));
  if (nearestPlan === null) terminal.out('No valid plan is near.\n');
  else terminal.out(`Nearest valid plan: ${describePlan(nearestPlan)}\n  ${shellPlan(answer.nearestArguments)}\n`);
}

function printFixes(terminal: Terminal, { fixes }: Evaluation): void {
  if (fixes.length === 0) return;
  terminal.out('\nWhat would help:\n');
  const columns = [
    { title: 'change', cell: (fix: (typeof fixes)[number]) => fix.change, align: 'left' as const, flex: true },
    { title: 'saves', cell: (fix: (typeof fixes)[number]) => formatBytes(fix.savesBytes) },
    { title: 'costs a step', cell: (fix: (typeof fixes)[number]) => formatSeconds(fix.costsSeconds) },
    { title: 'then', cell: (fix: (typeof fixes)[number]) => fix.verdict, align: 'left' as const },
  ];
  terminal.out(formatTable(fixes, columns, terminal.columns));
}

function print(terminal: Terminal, answer: Answer): void {
  const { opened, evaluation } = answer;
  terminal.out(`${opened.scenario.name}\n`);
  const { plan, estimate, verdict } = evaluation;
  printAssumed(terminal, [...opened.assumed, ...(estimate?.assumed ?? [])]);
  if (estimate === null || verdict === null) return printInvalid(terminal, answer);
  const width = terminal.columns;
  terminal.out(`${bold(terminal, `${describePlan(plan)} ${verdictWords[verdict]}:`)}\n`);
  terminal.out(`${describeEstimate(estimate)}.\n`);
  for (const line of answer.wholeRun) terminal.out(`${line}\n`);
  terminal.out(`\nWhere a step goes:\n${formatWaterfall(estimate, width)}`);
  terminal.out(`\n${formatMemory(estimate, width)}`);
  terminal.out(`\n${formatMoments(estimate)}`);
  printFixes(terminal, evaluation);
}

/** `trainyard evaluate SCENARIO --plan …`: one plan. Answers 1 where it is invalid or runs out of memory. */
export function evaluate(terminal: Terminal, source: string, options: EvaluateOptions): Promise<ExitCode> {
  return withPlanner({}, (planner) => {
    const opened = openScenario(planner, source);
    const evaluation = planner.evaluate(opened.scenario, planOf(opened, options.plan));
    printWarnings(terminal, opened.warnings);
    if (options.json) printJson(terminal, { scenario: opened.scenario.name, assumed: opened.assumed, ...evaluation });
    else {
      const { nearestPlan } = evaluation;
      const nearestArguments = nearestPlan === null ? '' : planner.argumentsOf(opened.scenario, nearestPlan);
      const wholeRun = evaluation.valid ? describeRun(planner, opened.scenario, evaluation.plan) : [];
      print(terminal, { opened, evaluation, nearestArguments, wholeRun });
    }
    return evaluation.valid && evaluation.verdict !== 'out-of-memory' ? 0 : 1;
  });
}
