/** Opens a number of a plan: its formula, inputs, source and parts. */
import type { Figure, FigureLine, PlanInput } from '../../schema/index.ts';
import { evaluatePlan } from '../evaluate.ts';
import type { Problem } from '../problem.ts';
import { StepModel } from '../step/index.ts';
import { figureLines, figureOf, type FigureContext } from './figures/index.ts';

/** What `explain` needs of a plan; null where it breaks a rule and therefore has no numbers. */
function contextOf(problem: Problem, input: PlanInput): FigureContext | null {
  const { plan, estimate, verdict, fixes } = evaluatePlan(problem, input);
  if (estimate === null || verdict === null) return null;
  return { problem, plan, cost: new StepModel(problem).cost(plan), estimate, verdict, fixes };
}

/** All numbers of a plan in a list; null for a plan that breaks a rule. */
export function explainList(problem: Problem, plan: PlanInput): FigureLine[] | null {
  const context = contextOf(problem, plan);
  return context === null ? null : figureLines(context);
}

/** One number with all below it; null for a plan that breaks a rule, or has no number of that id. */
export function explainFigure(problem: Problem, plan: PlanInput, id: string): Figure | null {
  const context = contextOf(problem, plan);
  return context === null ? null : figureOf(context, id);
}
