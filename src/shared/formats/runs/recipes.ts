/**
 * Recipes that a row inherits: a publication's releases run the same model on the same machines by nearly the same recipe, so
 * a release without one takes that of the nearest release with one. Source: CALIBRATION (what helped).
 */
import type { Run } from '../../schema/index.ts';

type Recipe = NonNullable<Run['recipe']>;

/** A model's name without its variant in brackets. */
const normalizedModel = (name: string | null | undefined): string =>
  (name ?? '')
    .replace(/\(.*?\)/g, '')
    .replace(/[^a-z0-9]/gi, '')
    .toLowerCase();

const familyOf = ({ source, model, cluster }: Run): string =>
  JSON.stringify([source?.title, normalizedModel(model.name), cluster.gpu, cluster.total_gpus]);

/** "NeMo container 26.04.01" → 26.0401: releases in order, and how far apart; null without a number. */
function releaseOf({ framework_version: version }: Run): number | null {
  const [, year, month = '00', patch = '00'] = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(version ?? '') ?? [];
  return year === undefined ? null : Number(year) + Number(month) / 12 + Number(patch) / 1000;
}

/** The rows, those without a recipe with that of their family's nearest release (the earlier of two as near). */
export function withInheritedRecipes(runs: readonly Run[]): Run[] {
  const known = Map.groupBy(
    runs.filter((run) => run.recipe != null && releaseOf(run) !== null),
    familyOf,
  );
  return runs.map((run) => {
    const release = releaseOf(run);
    if (run.recipe != null || release === null) return run;
    const distance = (other: Run) => Math.abs((releaseOf(other) ?? Infinity) - release);
    const nearest = (known.get(familyOf(run)) ?? []).reduce<Run | null>(
      (best, other) => (best === null || distance(other) < distance(best) ? other : best),
      null,
    );
    if (nearest?.recipe == null) return run;
    const recipe: Recipe = { ...nearest.recipe, from: nearest.framework_version ?? nearest.id };
    return { ...run, recipe: { ...recipe, inherited: true } };
  });
}
