/** What a rule is, and rules about one degree. */
import type { Plan } from '../schema/index.ts';
import type { Problem } from './problem.ts';

export type Value = number | string | boolean;

export interface Rule {
  id: string;
  /** Dotted plan path of the field that the rule is about. */
  path: string;
  /** What is wrong, in words with numbers; null where nothing is. */
  fault(problem: Problem, plan: Plan): string | null;
  /** Values of the field to try; those that pass the rule are legal. */
  candidates(problem: Problem, plan: Plan): readonly Value[];
  set(plan: Plan, value: Value): Plan;
}

export type Degree = 'tp' | 'pp' | 'cp' | 'ep' | 'etp' | 'dp' | 'vpp' | 'microBatchSize';

export const setDegree =
  (field: Degree) =>
  (plan: Plan, value: Value): Plan => ({ ...plan, [field]: Number(value) });

export function degreeRule(
  id: string,
  path: Degree,
  fault: Rule['fault'],
  candidates: (problem: Problem, plan: Plan) => readonly number[],
): Rule {
  return { id, path, fault, candidates, set: setDegree(path) };
}
