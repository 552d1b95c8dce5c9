/** A plan's numbers by name: the engine's figures, with faults in words. */
import type { Problem } from '#shared/engine/index.ts';
import { AppError } from '#shared/errors.ts';
import { closest } from '#shared/closest.ts';
import type { Figure, FigureLine, PlanInput } from '#shared/schema/index.ts';
import { evaluatePlan, explainFigure, explainList } from '../jobs/index.ts';

function brokenPlan(problem: Problem, plan: PlanInput): AppError {
  const { violations } = evaluatePlan(problem, plan);
  return new AppError(
    'unsupported',
    `the plan has no numbers: ${violations.map(({ message }) => message).join('; ')}`,
    {
      path: 'plan',
      remedy: 'Choose a plan that keeps every rule; evaluate names the nearest.',
    },
  );
}

/** All numbers of a plan. Throws AppError for a plan that breaks a rule. */
export function listFigures(problem: Problem, plan: PlanInput): FigureLine[] {
  const lines = explainList(problem, plan);
  if (lines === null) throw brokenPlan(problem, plan);
  return lines;
}

function notFound(name: string, known: readonly string[], inside: string | null): AppError {
  const near = closest(name, known);
  const some = known.slice(0, 12).join(', ');
  const what = inside === null ? `there is no number "${name}"` : `"${inside}" has no part "${name}"`;
  const list = known.length === 0 ? 'It has no parts.' : `It may be ${some}${known.length > 12 ? ', …' : ''}.`;
  return new AppError('not-found', what, {
    path: name,
    remedy: near === null ? list : `Did you mean "${near}"? ${list}`,
  });
}

/**
 * The number of that id, or the part of it that a path names (`stepSeconds/pipeline`); a part keeps its path as its id.
 * Throws AppError that names what there is.
 */
export function openFigure(problem: Problem, plan: PlanInput, path: string): Figure {
  const [id = '', ...names] = path.split('/').filter((name) => name !== '');
  const top = explainFigure(problem, plan, id);
  if (top === null)
    throw notFound(
      id,
      listFigures(problem, plan).map((line) => line.id),
      null,
    );
  let place = id;
  let figure = top;
  for (const name of names) {
    const next = figure.children.find((child) => child.id === name);
    if (next === undefined)
      throw notFound(
        name,
        figure.children.map((child) => child.id),
        place,
      );
    place = `${place}/${name}`;
    figure = { ...next, id: place };
  }
  return figure;
}
