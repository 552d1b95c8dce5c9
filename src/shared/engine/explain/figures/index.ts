/** All numbers of a plan that open, by id. */
import type { Figure, FigureLine } from '../../../schema/index.ts';
import { communication } from './communication.ts';
import { fixes } from './fixes.ts';
import { interruptions } from './interruptions.ts';
import { memory } from './memory.ts';
import { model } from './model.ts';
import { wholeRun } from './run.ts';
import { scaling } from './scaling.ts';
import { speed } from './speed.ts';
import { withUniqueIds, type FigureContext, type FigureKinds } from './types.ts';

export type { FigureContext } from './types.ts';

const kinds: FigureKinds = {
  ...speed,
  ...memory,
  ...fixes,
  ...model,
  ...communication,
  ...wholeRun,
  ...interruptions,
  ...scaling,
};

/** Ids of all figures of a plan, kind by kind. */
export function figureIds(context: FigureContext): string[] {
  return Object.entries(kinds).flatMap(([name, kind]) => kind.ids?.(context) ?? [name]);
}

const nameOf = (id: string) => (id in kinds ? id : id.slice(0, Math.max(0, id.lastIndexOf('.'))));

/** A figure by its id with everything below it; null where the plan has none of that id. */
export function figureOf(context: FigureContext, id: string): Figure | null {
  const name = nameOf(id);
  const kind = kinds[name];
  if (kind === undefined || !(kind.ids?.(context) ?? [name]).includes(id)) return null;
  const built = kind.build(context, id);
  return { id, ...built, children: withUniqueIds(built.children) };
}

/** The list of all figures: what each is called and its value. */
export function figureLines(context: FigureContext): FigureLine[] {
  return figureIds(context).flatMap((id): FigureLine[] => {
    const found = figureOf(context, id);
    const group = kinds[nameOf(id)]?.group;
    if (found === null || group === undefined) return [];
    return [{ id, group, label: found.label, value: found.value, unit: found.unit }];
  });
}
