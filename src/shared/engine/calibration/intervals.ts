/** 90 % bands from residuals of rows that were not fitted, and how many rows of others they hold. Source: MODEL §9. */
import { quantile } from './statistics.ts';

/** A residual: measured ÷ predicted, and the fold whose rows it must not be judged by. */
export interface Residual {
  ratio: number;
  fold: string;
}

/** Fewest residuals that a band is taken from. */
const FEWEST = 8;
const TAIL = 0.05;

/** 5th and 95th percentile of measured ÷ predicted; null for too few rows. */
export function bandOf(ratios: readonly number[]): { low: number; high: number } | null {
  const [low, high] = [quantile(ratios, TAIL), quantile(ratios, 1 - TAIL)];
  return ratios.length < FEWEST || low === null || high === null ? null : { low, high };
}

/**
 * Share of the rows that lie in the band taken from the other folds' rows: what a user of a new fold would have met.
 * null where no fold leaves enough rows.
 */
export function coverageOf(residuals: readonly Residual[]): number | null {
  let [inside, judged] = [0, 0];
  for (const fold of new Set(residuals.map((residual) => residual.fold))) {
    const band = bandOf(residuals.filter((residual) => residual.fold !== fold).map(({ ratio }) => ratio));
    if (band === null) continue;
    for (const { ratio } of residuals.filter((residual) => residual.fold === fold)) {
      judged += 1;
      if (ratio >= band.low && ratio <= band.high) inside += 1;
    }
  }
  return judged === 0 ? null : inside / judged;
}
