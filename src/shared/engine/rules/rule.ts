/** What a rule is: one thing that makes a plan invalid, for the frameworks that refuse it. */
import type { Fact } from '../../schema/facts.ts';
import type { Plan } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import type { RuleFamily } from '../family.ts';
import type { Problem } from '../problem.ts';

export type Value = number | string | boolean;

export type { RuleFamily };

/** What happens to a plan that breaks a rule where the framework does not refuse it at the start. */
export type Consequence = 'refused' | 'loses-layers' | 'hangs';

export interface Rule {
  id: string;
  /** Dotted plan path of the field that the rule is about. */
  path: string;
  /** Families that the rule holds for; absent = every family that trains. */
  families?: readonly RuleFamily[];
  /** What must be known for the rule to be asked; absent = nothing beyond the plan's degrees. */
  needs?: readonly Fact[];
  consequence?: Consequence;
  /** What is wrong, in words with numbers; null where nothing is. */
  fault(problem: Problem, plan: Plan): string | null;
  /** Values of the field to try; those that pass the rule are legal. */
  candidates(problem: Problem, plan: Plan): readonly Value[];
  set(plan: Plan, value: Value): Plan;
}

export type Degree = 'tp' | 'pp' | 'cp' | 'ep' | 'etp' | 'dp' | 'vpp' | 'microBatchSize';

/** Replaces one degree of a plan. */
export const setDegree =
  (field: Degree) =>
  (plan: Plan, value: Value): Plan => ({ ...plan, [field]: Number(value) });

/** A rule about one degree. */
export function degreeRule(
  id: string,
  path: Degree,
  fault: Rule['fault'],
  candidates: (problem: Problem, plan: Plan) => readonly number[],
): Rule {
  return { id, path, fault, candidates, set: setDegree(path) };
}

/** Tensor parallel degrees to try: inside the scale-up domain. */
export const tpCandidates = (problem: Problem): number[] =>
  divisorsOf(problem.network.numAccelerators).filter((tp) => tp <= problem.network.scaleUpDomainSize);

const LARGEST_MICRO_BATCH = 64;

/** Micro-batches to try. */
export const microBatchCandidates = (problem: Problem): number[] =>
  divisorsOf(problem.workload.globalBatchSize).filter((size) => size <= LARGEST_MICRO_BATCH);

/** Micro-batches per pipeline and step; a fraction where the batch does not divide. */
export function numMicroBatchesOf(problem: Problem, plan: Plan): number {
  return problem.workload.globalBatchSize / (plan.dp * plan.microBatchSize);
}

/** The version "core 0.16" as [0, 16]; null where it names none, which stands for the newest. */
export function coreVersionOf(version: string | null): [number, number] | null {
  const found = /core\D*(\d+)\.(\d+)/i.exec(version ?? '');
  return found === null ? null : [Number(found[1]), Number(found[2])];
}

/** Whether a plan runs on that version of Megatron-Core or a later one; null and unknown versions are the newest. */
export function isCoreFrom({ framework, workload }: Problem, major: number, minor: number): boolean {
  const version = coreVersionOf(framework.version);
  if (version === null) return framework.version === null || workload.stackYear >= 2025;
  return version[0] > major || (version[0] === major && version[1] >= minor);
}
