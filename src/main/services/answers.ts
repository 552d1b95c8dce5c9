/** A whole search as the command line gives it: each listed plan with its full estimate. */
import { parseChoices } from '#shared/formats/plan-args.ts';
import {
  objectives,
  type Constraints,
  type Estimate,
  type Plan,
  type PlanSummary,
  type Scenario,
  type SearchStats,
} from '#shared/schema/index.ts';
import { AppError } from '#shared/errors.ts';
import { describePlan, type SearchProgress } from '../jobs/index.ts';
import { ENGINE_VERSION, type Planner } from './planner.ts';

export { describePlan };

export interface ListedPlan {
  plan: Plan;
  estimate: Estimate;
  /** Set on the scenario's own plan. */
  reference?: true;
}

/** The answer of `plan` (docs/FORMATS.md §5). */
export interface PlanAnswer {
  best: ListedPlan[];
  /** Pareto frontier of throughput against peak memory, fastest first. */
  frontier: ListedPlan[];
  /** The scenario's own plan and its rank among the plans that fit (null: it does not); null where it has no valid one. */
  reference: {
    plan: Plan;
    estimate: Estimate;
    rank: number | null;
    label: string;
    verdict: PlanSummary['verdict'];
  } | null;
  stats: SearchStats;
  /** What to do where no plan fits. */
  whyEmpty: string[];
  warnings: string[];
  objective: Scenario['objective'];
  engineVersion: string;
}

export interface PlanOverrides {
  objective?: string;
  /** `--pin` and `--exclude` as they were typed. */
  pin?: readonly string[];
  exclude?: readonly string[];
}

/** What either of two lists of exclusions rules out. */
function union(a: Constraints['exclude'], b: Constraints['exclude']): Constraints['exclude'] {
  const paths = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...paths].map((path) => [path, [...new Set([...(a[path] ?? []), ...(b[path] ?? [])])]]));
}

/** The scenario with another objective and further constraints. Throws AppError bad-usage. */
export function withOverrides(scenario: Scenario, { objective, pin = [], exclude = [] }: PlanOverrides): Scenario {
  const known = objectives.find((name) => name === (objective ?? scenario.objective));
  if (known === undefined)
    throw new AppError('bad-usage', `--objective: there is no objective "${objective ?? ''}"`, {
      path: '--objective',
      remedy: `Use one of ${objectives.join(', ')}.`,
    });
  const constraints: Constraints = {
    ...scenario.constraints,
    pin: { ...scenario.constraints.pin, ...parseChoices(pin, '--pin') },
    exclude: union(scenario.constraints.exclude, parseChoices(exclude, '--exclude')),
  };
  return { ...scenario, objective: known, constraints };
}

/** Why the scenario's own plan is not listed, in words. */
function referenceWarnings(planner: Planner, scenario: Scenario): string[] {
  if (scenario.plan === null) return [];
  const { violations } = planner.evaluate(scenario, scenario.plan);
  const reasons = violations.map((violation) => violation.message);
  return [`The scenario's own plan is not listed: ${reasons.join('; ')}.`];
}

export interface AnswerRequest {
  top: number;
  onProgress?: (progress: SearchProgress) => void;
}

/** Searches, and evaluates the best plans, the frontier and the scenario's own plan in full. */
export async function answerPlan(planner: Planner, scenario: Scenario, request: AnswerRequest): Promise<PlanAnswer> {
  const outcome = await planner.search(scenario, request).finished;
  if (outcome.type !== 'done') throw new Error('the search was cancelled');
  const { result } = outcome;
  const own = result.reference;
  const known = new Map<string, ListedPlan>();
  const listed = ({ key, plan }: PlanSummary): ListedPlan => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const { estimate } = planner.evaluate(scenario, plan);
    if (estimate === null) throw new Error(`the search lists a plan that breaks a rule: ${key}`);
    const item: ListedPlan = { plan, estimate, ...(key === own?.summary.key ? { reference: true } : {}) };
    known.set(key, item);
    return item;
  };
  const best = result.best.map(listed);
  const frontier = result.frontier.map(listed);
  const reference = own === null ? null : listed(own.summary);
  if (reference !== null && !best.includes(reference)) best.push(reference);
  return {
    best,
    frontier,
    reference:
      own === null || reference === null
        ? null
        : {
            plan: reference.plan,
            estimate: reference.estimate,
            rank: own.rank,
            label: own.label,
            verdict: own.summary.verdict,
          },
    stats: result.stats,
    whyEmpty: result.whyEmpty,
    warnings: own === null ? referenceWarnings(planner, scenario) : [],
    objective: scenario.objective,
    engineVersion: ENGINE_VERSION,
  };
}
