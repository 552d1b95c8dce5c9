/** Errors, bands and evidence of a cross-validation, by situation and kind of model. Source: MODEL §9; MEASURE. */
import type { CalibrationFile, ModelKind, SituationError } from '../../schema/index.ts';
import type { FoldKind, FoldSummary, HeldOut, MeasuredCase } from './measured.ts';
import { bandOf, coverageOf, type Residual } from './intervals.ts';
import { quantile, summarizeErrors } from './statistics.ts';

/** Rows from which on a stack counts as evidence for an accelerator. */
const FEWEST_EVIDENCE = 3;

const kinds: readonly ModelKind[] = ['dense', 'moe'];
const errorOf = ({ predictedSeconds, measuredSeconds }: HeldOut) => predictedSeconds / measuredSeconds - 1;
const residualOf = ({ predictedSeconds, measuredSeconds, fold }: HeldOut): Residual => ({
  ratio: measuredSeconds / predictedSeconds,
  fold,
});
const rounded = (value: number | null) => Number((value ?? 0).toFixed(4));

/** Error and coverage of one situation, dense models and such with experts apart. */
export function situationErrors(
  situation: SituationError['situation'],
  rows: readonly HeldOut[],
  folds: string,
): SituationError[] {
  return kinds.flatMap((kind): SituationError[] => {
    const own = rows.filter((row) => row.kind === kind);
    if (own.length === 0) return [];
    const { mape, medianApe, p90Ape, bias, count } = summarizeErrors(own.map(errorOf));
    const coverage = coverageOf(own.map(residualOf));
    return [
      {
        situation,
        kind,
        rows: count,
        mape: rounded(mape),
        medianApe: rounded(medianApe),
        p90Ape: rounded(p90Ape),
        bias: rounded(bias),
        coverage: coverage === null ? null : rounded(coverage),
        folds,
      },
    ];
  });
}

/** 90 % bands of one situation, where there are rows enough. */
export function bandsOf(
  situation: 'covered' | 'new-source' | 'new-accelerator',
  rows: readonly HeldOut[],
  basis: string,
): CalibrationFile['stepTimeBands'] {
  return kinds.flatMap((kind) => {
    const ratios = rows.filter((row) => row.kind === kind).map((row) => residualOf(row).ratio);
    const band = bandOf(ratios);
    if (band === null) return [];
    const named = kind === 'moe' ? 'with experts' : 'dense';
    return [
      {
        situation,
        kind,
        low: rounded(band.low),
        high: rounded(band.high),
        rows: ratios.length,
        basis: `step time: 5th to 95th percentile of measured ÷ predicted over ${ratios.length} ${named} runs, ${basis}`,
      },
    ];
  });
}

/** How many rows each stack has on each accelerator; fewer than three are none. */
export function evidenceOf(cases: readonly MeasuredCase[]): CalibrationFile['evidence'] {
  const groups = Map.groupBy(cases, ({ context, kind }) => JSON.stringify([context.stack, context.accelerator, kind]));
  return [...groups]
    .map(([key, rows]) => {
      const [stack, accelerator, kind] = JSON.parse(key) as [string, string, ModelKind];
      return { stack, accelerator, kind, rows: rows.length };
    })
    .filter(({ rows }) => rows >= FEWEST_EVIDENCE)
    .sort((a, b) => b.rows - a.rows || JSON.stringify(a).localeCompare(JSON.stringify(b), 'en'));
}

/** Error of each fold of a division. */
export function foldRows(by: FoldKind, rows: readonly HeldOut[]): FoldSummary[] {
  return [...Map.groupBy(rows, ({ fold, kind }) => JSON.stringify([fold, kind]))].map(([name, own]) => {
    const [key, kind] = JSON.parse(name) as [string, ModelKind];
    const { count, mape, medianApe } = summarizeErrors(own.map(errorOf));
    return { by, key, kind, rows: count, mape, medianApe, bias: quantile(own.map(errorOf), 0.5) };
  });
}
