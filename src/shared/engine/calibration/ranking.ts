/**
 * Whether predictions put splits of one job in the order in which they were measured. A group holds runs that differ in
 * their split only (same source, release, model, accelerators, batch, precision). Source: MEASURE; MODEL §9.
 */
export interface Ranked {
  group: string;
  predictedSeconds: number;
  measuredSeconds: number;
}

export interface RankingSummary {
  groups: number;
  rows: number;
  /** Share of groups in which the split predicted best was measured within 3 % of the best. */
  bestWithin3Percent: number | null;
  /** Mean over groups of measured(predicted best) ÷ measured best − 1. */
  meanRegret: number | null;
  /** Mean over groups of Kendall's τ between predicted and measured order. */
  kendallTau: number | null;
}

/** Groups whose measured step times lie closer together than this say nothing about order. */
const SPREAD = 0.05;
const NEAR_BEST = 0.03;

const mean = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Kendall's τ: concordant minus discordant pairs over all pairs; ties count as neither. */
export function kendallTau(pairs: readonly (readonly [number, number])[]): number {
  let score = 0;
  let count = 0;
  for (const [i, [a, x]] of pairs.entries())
    for (const [b, y] of pairs.slice(i + 1)) {
      score += Math.sign(a - b) * Math.sign(x - y);
      count += 1;
    }
  return count === 0 ? 0 : score / count;
}

/** Summary over groups of at least two configurations whose measured step times spread by more than 5 %. */
export function rankingOf(rows: readonly Ranked[]): RankingSummary {
  const byGroup = Map.groupBy(rows, ({ group }) => group);
  const groups = [...byGroup.values()].filter((members) => {
    const measured = members.map((row) => row.measuredSeconds);
    return members.length > 1 && Math.max(...measured) / Math.min(...measured) - 1 > SPREAD;
  });
  const regrets = groups.map((members) => {
    const best = Math.min(...members.map((row) => row.measuredSeconds));
    const chosen = members.reduce((a, b) => (b.predictedSeconds < a.predictedSeconds ? b : a));
    return chosen.measuredSeconds / best - 1;
  });
  return {
    groups: groups.length,
    rows: groups.reduce((sum, members) => sum + members.length, 0),
    bestWithin3Percent: mean(regrets.map((regret) => (regret <= NEAR_BEST ? 1 : 0))),
    meanRegret: mean(regrets),
    kendallTau: mean(
      groups.map((members) => kendallTau(members.map((row) => [row.predictedSeconds, row.measuredSeconds] as const))),
    ),
  };
}
