/**
 * What makes a plan valid. Each rule looks at one thing and says in words what is wrong; a plan is judged by all of
 * them, so that a broken plan shows every fault at once, each with the values that would be legal there.
 * Source: Megatron-LM arguments.py and parallel_state.py (MODEL §1, §5.5, §6), and configurations that people reported as
 * refused without a reason, or run with layers lost.
 */
import type { Fact } from '../../schema/facts.ts';
import type { Plan, Violation } from '../../schema/index.ts';
import { valueAt } from '../plan.ts';
import type { Problem } from '../problem.ts';
import { frameworkRules } from './frameworks.ts';
import { groupRules } from './groups.ts';
import { notModelledRules } from './not-modelled.ts';
import { pipelineRules } from './pipeline.ts';
import type { Consequence, Rule, Value } from './rule.ts';
import { consequenceOf, isKnown, rulesFor } from './scope.ts';
import { worldRules } from './world.ts';

export { numMicroBatchesOf, type Consequence, type Rule } from './rule.ts';

export const rules: readonly Rule[] = [
  ...worldRules,
  ...groupRules,
  ...pipelineRules,
  ...frameworkRules,
  ...notModelledRules,
];

/** The id of the first rule that a plan breaks, or null. Cheap: for the search. */
export function firstBrokenRule(problem: Problem, plan: Plan): string | null {
  for (const rule of rulesFor(rules, problem.framework.family)) if (rule.fault(problem, plan) !== null) return rule.id;
  return null;
}

function nearestTo(value: unknown, legal: readonly Value[]): Value | null {
  if (typeof value !== 'number') return legal[0] ?? null;
  let best: number | null = null;
  for (const candidate of legal) {
    if (typeof candidate !== 'number') continue;
    if (best === null || Math.abs(Math.log(candidate / value)) < Math.abs(Math.log(best / value))) best = candidate;
  }
  return best ?? legal[0] ?? null;
}

const MOST_LEGAL_VALUES = 64;

/** A broken rule, and what the framework does with such a plan. */
export interface BrokenRule {
  violation: Violation;
  consequence: Consequence;
}

/**
 * Every rule of the problem's framework that a plan breaks, with the legal values of its field and the nearest of them.
 * Where only some facts are known (a report of a run), rules that look at others are not asked.
 */
export function brokenRules(problem: Problem, plan: Plan, known?: ReadonlySet<Fact>): BrokenRule[] {
  return rulesFor(rules, problem.framework.family).flatMap((rule): BrokenRule[] => {
    if (known !== undefined && !isKnown(rule, known)) return [];
    const message = rule.fault(problem, plan);
    if (message === null) return [];
    const legal = rule
      .candidates(problem, plan)
      .filter((value) => rule.fault(problem, rule.set(plan, value)) === null)
      .slice(0, MOST_LEGAL_VALUES);
    const nearest = nearestTo(valueAt(plan, rule.path), legal);
    const violation = { rule: rule.id, message, legal, nearest, path: rule.path };
    return [{ violation, consequence: consequenceOf(problem, rule) }];
  });
}

/** Every rule that a plan breaks. */
export function violationsOf(problem: Problem, plan: Plan): Violation[] {
  return brokenRules(problem, plan).map(({ violation }) => violation);
}
