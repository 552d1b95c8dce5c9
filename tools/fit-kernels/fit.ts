/** From rows and a curve to parameters and their errors, the same way for every kernel kind. */
import type { ErrorStatistics, FitStatistics, Fitted } from '../../src/shared/engine/kernels/index.ts';
import { fitParameters, type Parameter } from './least-squares.ts';

export interface Row {
  /** Identifies the shape; decides the half a row falls in, whatever the row order. */
  readonly key: string;
  readonly seconds: number;
  /** Whether the row matters in training: headline errors are over these. */
  readonly matters: boolean;
  /** Factor on the row's loss in the fit. */
  readonly weight: number;
  /** Size range the row is reported under. */
  readonly bucket: string;
}

export interface CurveKind<Shape extends Row, Curve> {
  readonly parameters: readonly Parameter[];
  readonly toCurve: (values: readonly number[]) => Curve;
  readonly predict: (curve: Curve, row: Shape) => number;
}

/** The curve fitted to all rows, with in-sample errors and two-fold held-out errors. */
export function fitCurve<Shape extends Row, Curve>(
  kind: CurveKind<Shape, Curve>,
  rows: readonly Shape[],
): Fitted<Curve> {
  const curve = fitRows(kind, rows);
  const halves = [rows.filter((row) => halfOf(row.key) === 0), rows.filter((row) => halfOf(row.key) === 1)] as const;
  const heldOutErrors = [
    ...errors(
      kind,
      fitRows(kind, halves[0]),
      halves[1].filter((row) => row.matters),
    ),
    ...errors(
      kind,
      fitRows(kind, halves[1]),
      halves[0].filter((row) => row.matters),
    ),
  ];
  const matters = rows.filter((row) => row.matters);
  const buckets = Map.groupBy(rows, (row) => row.bucket);
  const fit: FitStatistics = {
    ...statistics(errors(kind, curve, matters)),
    heldOut: statistics(heldOutErrors),
    allRows: statistics(errors(kind, curve, rows)),
    buckets: Object.fromEntries(
      [...buckets]
        .sort(([a], [b]) => a.localeCompare(b, 'en'))
        .map(([name, members]) => [name, statistics(errors(kind, curve, members))]),
    ),
  };
  return { ...curve, fit };
}

function fitRows<Shape extends Row, Curve>(kind: CurveKind<Shape, Curve>, rows: readonly Shape[]): Curve {
  const values = fitParameters({
    parameters: kind.parameters,
    residuals: (candidate) => {
      const curve = kind.toCurve(candidate);
      return Float64Array.from(rows, (row) => Math.log(kind.predict(curve, row) / row.seconds));
    },
    weights: Float64Array.from(rows, (row) => row.weight),
  });
  return kind.toCurve(values);
}

function errors<Shape extends Row, Curve>(
  kind: CurveKind<Shape, Curve>,
  curve: Curve,
  rows: readonly Shape[],
): number[] {
  return rows.map((row) => kind.predict(curve, row) / row.seconds - 1);
}

function statistics(relativeErrors: readonly number[]): ErrorStatistics {
  const absolute = relativeErrors.map(Math.abs);
  return {
    rows: relativeErrors.length,
    medianApe: quantile(absolute, 0.5),
    p95Ape: quantile(absolute, 0.95),
    medianBias: quantile(relativeErrors, 0.5),
  };
}

/** Linear interpolation between order statistics, rounded to 0.01 %. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = share * (sorted.length - 1);
  const lower = sorted[Math.floor(position)] ?? 0;
  const upper = sorted[Math.ceil(position)] ?? 0;
  return Number((lower + (position - Math.floor(position)) * (upper - lower)).toFixed(4));
}

/** 0 or 1 from the shape's name (FNV-1a with a fixed seed and a final mix), so that the split is reproducible. */
function halfOf(key: string): 0 | 1 {
  let hash = 0x811c9dc5;
  for (const character of `trainyard:${key}`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) & 1) === 0 ? 0 : 1;
}
