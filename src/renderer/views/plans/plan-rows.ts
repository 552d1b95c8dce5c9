/** The plans that a search result holds, each once, with rank and role; and the filters over them. */
import type { PlanSummary, SearchResult } from '#shared/schema/index.ts';

export interface PlanRow {
  summary: PlanSummary;
  /** 1 = fastest of all feasible plans; null: slower than the listed ones. */
  rank: number | null;
  isOnFrontier: boolean;
  /** What the scenario's own plan is called, e.g. "published split"; null for the others. */
  referenceLabel: string | null;
}

/** Fastest first; the reference may be out of memory and then comes last. */
export function planRows(result: SearchResult): PlanRow[] {
  const ranks = new Map(result.best.map((summary, index) => [summary.key, index + 1]));
  const frontier = new Set(result.frontier.map((summary) => summary.key));
  const reference = result.reference;
  const all = [
    ...result.best,
    ...result.frontier,
    ...result.heatMap.flatMap((cell) => (cell.best === null ? [] : [cell.best])),
    ...(reference === null ? [] : [reference.summary]),
  ];
  const unique = new Map(all.map((summary) => [summary.key, summary]));
  const rows = [...unique.values()].map((summary) => {
    const isReference = reference?.summary.key === summary.key;
    const ownRank = isReference ? reference.rank : null;
    return {
      summary,
      rank: ranks.get(summary.key) ?? ownRank,
      isOnFrontier: frontier.has(summary.key),
      referenceLabel: isReference ? reference.label : null,
    };
  });
  const order = (row: PlanRow) => row.rank ?? (row.summary.verdict === 'out-of-memory' ? Infinity : 1e9);
  return rows.sort((a, b) => order(a) - order(b) || a.summary.stepSeconds - b.summary.stepSeconds);
}

/** Dimensions that the page can filter by; each is one key of the address. */
export const filterKeys = ['tp', 'pp', 'vpp', 'mbs', 'recompute'] as const;
export type FilterKey = (typeof filterKeys)[number];
export type Filters = Readonly<Partial<Record<FilterKey, string>>>;

export const filterLabels: Readonly<Record<FilterKey, string>> = {
  tp: 'TP',
  pp: 'PP',
  vpp: 'VPP',
  mbs: 'Micro-batch',
  recompute: 'Recompute',
};

export function filterValue({ plan }: PlanSummary, key: FilterKey): string {
  if (key === 'mbs') return String(plan.microBatchSize);
  if (key === 'recompute') return plan.recompute.mode;
  return String(plan[key]);
}

export function filtered(rows: readonly PlanRow[], filters: Filters): PlanRow[] {
  const wanted = Object.entries(filters) as [FilterKey, string][];
  return rows.filter(({ summary }) => wanted.every(([key, value]) => filterValue(summary, key) === value));
}

/** The values that occur, in natural order. */
export function filterChoices(rows: readonly PlanRow[], key: FilterKey): string[] {
  const values = [...new Set(rows.map(({ summary }) => filterValue(summary, key)))];
  return values.sort((a, b) => Number(a) - Number(b) || a.localeCompare(b));
}
