/**
 * A kind of number that a plan has, and how it is opened. One file per subject; to add a number, add a kind to one of them
 * or a file to the list in index.ts.
 */
import type { Estimate, Figure, Fix, FigureInput, FigureLine, Plan, Verdict } from '../../../schema/index.ts';
import type { Problem } from '../../problem.ts';
import type { StepCost } from '../../step/index.ts';

/** A valid plan with all that is known of it. */
export interface FigureContext {
  readonly problem: Problem;
  readonly plan: Plan;
  readonly cost: StepCost;
  readonly estimate: Estimate;
  readonly verdict: Verdict;
  readonly fixes: readonly Fix[];
}

export interface FigureKind {
  readonly group: FigureLine['group'];
  /** Ids of the figures of this kind that the plan has, e.g. one per pipeline stage; the kind's own name where absent. */
  ids?(context: FigureContext): string[];
  build(context: FigureContext, id: string): Omit<Figure, 'id'>;
}

export type FigureKinds = Readonly<Record<string, FigureKind>>;

type Given = Pick<Figure, 'label' | 'value' | 'unit' | 'source'> & Partial<Omit<Figure, 'id'>>;

/** A figure with what is absent left empty. */
export function figure(given: Given): Omit<Figure, 'id'> {
  return { about: '', formula: '', inputs: [], children: [], ...given };
}

/** A child of a figure; its id follows from its label. */
export function part(given: Given): Figure {
  return { id: idOf(given.label), ...figure(given) };
}

/** The number after a dot in an id: 3 of `memoryByStage.3`. */
export function numberIn(id: string): number {
  return Number(id.slice(id.lastIndexOf('.') + 1));
}

export function idOf(label: string): string {
  const words = label
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return words.replace(/^-+|-+$/g, '') || 'part';
}

/** Siblings with ids of their own: the second of the same name ends in -2. */
export function withUniqueIds(children: readonly Figure[]): Figure[] {
  const seen = new Map<string, number>();
  return children.map((child) => {
    const times = (seen.get(child.id) ?? 0) + 1;
    seen.set(child.id, times);
    const id = times === 1 ? child.id : `${child.id}-${times}`;
    return { ...child, id, children: withUniqueIds(child.children) };
  });
}

/** An input; with `of`, the figure that it is. */
export function input(label: string, value: number, unit = '', of?: string): FigureInput {
  return { label, value, unit, ...(of === undefined ? {} : { figure: of }) };
}
