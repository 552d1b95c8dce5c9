/** How far predictions lie from measurements. APE = |predicted ÷ measured − 1| (MODEL §9). */

export interface ErrorSummary {
  count: number;
  /** Mean of the absolute errors; null where there is no row. Fractions, not percent. */
  mape: number | null;
  medianApe: number | null;
  p90Ape: number | null;
  /** Median of the signed errors. */
  bias: number | null;
}

/** The value below which the fraction `q` of the values lies, linear between neighbours; null for none. */
export function quantile(values: readonly number[], q: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

/** Summary of signed errors predicted ÷ measured − 1. */
export function summarizeErrors(errors: readonly number[]): ErrorSummary {
  const absolute = errors.map(Math.abs);
  const mape = errors.length === 0 ? null : absolute.reduce((sum, error) => sum + error, 0) / errors.length;
  return {
    count: errors.length,
    mape,
    medianApe: quantile(absolute, 0.5),
    p90Ape: quantile(absolute, 0.9),
    bias: quantile(errors, 0.5),
  };
}
