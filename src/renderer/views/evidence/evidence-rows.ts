/** Which recorded runs are shown, and how far predictions are off for them. */
import type { EvidenceRow } from '#shared/schema/index.ts';
import type { EvidencePoint } from '../../charts/evidence-scatter.ts';

export const filterNames = ['accelerator', 'stack', 'family', 'scale', 'precision', 'kind'] as const;
export type FilterName = (typeof filterNames)[number];
/** null = all. */
export type Filters = Record<FilterName, string | null>;
export const noFilters = (): Filters => ({
  accelerator: null,
  stack: null,
  family: null,
  scale: null,
  precision: null,
  kind: null,
});

const scales = [
  { most: 8, name: 'up to 8' },
  { most: 64, name: '9 to 64' },
  { most: 512, name: '65 to 512' },
  { most: Infinity, name: 'more than 512' },
] as const;

export function scaleOf({ numAccelerators }: EvidenceRow): string {
  if (numAccelerators === null) return 'unknown';
  return scales.find(({ most }) => numAccelerators <= most)?.name ?? 'unknown';
}

function valueOf(row: EvidenceRow, name: FilterName): string {
  return name === 'scale' ? scaleOf(row) : row[name];
}

export function filtered(rows: readonly EvidenceRow[], filters: Filters): EvidenceRow[] {
  return rows.filter((row) =>
    filterNames.every((name) => filters[name] === null || valueOf(row, name) === filters[name]),
  );
}

/** The values of a filter that rows have, most frequent first, with their number. */
export function choicesOf(rows: readonly EvidenceRow[], name: FilterName): { value: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(valueOf(row, name), (counts.get(valueOf(row, name)) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
}

export function pointsOf(rows: readonly EvidenceRow[]): EvidencePoint[] {
  return rows.flatMap(({ id, model, kind, predicted, measured, errorFraction, accelerator, numAccelerators }) =>
    errorFraction === null || predicted.stepSeconds === null || measured.stepSeconds === null
      ? []
      : [
          {
            id,
            label: `${model}, ${numAccelerators ?? '?'} × ${accelerator}`,
            kind,
            predictedSeconds: predicted.stepSeconds,
            measuredSeconds: measured.stepSeconds,
            errorFraction,
          },
        ],
  );
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** Median and mean of |error|, and the median error, as fractions; null without points. */
export function errorsOf(points: readonly Pick<EvidencePoint, 'errorFraction'>[]) {
  const errors = points.map(({ errorFraction }) => errorFraction);
  const sizes = errors.map(Math.abs);
  return {
    median: medianOf(sizes),
    mape: sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0) / sizes.length,
    bias: medianOf(errors),
  };
}
