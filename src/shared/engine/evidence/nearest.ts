/**
 * Which measured runs say most about a plan. The distance weighs what moves the error of a prediction from run to run:
 * the accelerator and the kind of model first (their kernels and terms differ), then precision and stack, then sizes by
 * their ratio. It ranks rows; no prediction depends on it.
 */
import type { EvidenceRow, NearestEvidence } from '../../schema/index.ts';

/** What of a plan is compared. */
export interface EvidenceQuery {
  accelerator: string;
  kind: 'dense' | 'moe';
  precision: string;
  /** Stack or family; null = not said. */
  stack: string | null;
  parameters: number;
  numAccelerators: number;
  seqLen: number;
}

/** Of a difference: larger than any that comes after it, so that rows of the accelerator come before others. */
const weights = { accelerator: 8, kind: 4, precision: 2, stack: 1 } as const;
/** Of a size that is twice or half as large. */
const PER_DOUBLING = 0.25;

type Comparison = { distance: number; same: string[]; differs: string[] };

function compareName(to: Comparison, what: keyof typeof weights, names: readonly [string, string]): void {
  const [mine, theirs] = names;
  if (mine === theirs) to.same.push(`${what} ${theirs}`);
  else {
    to.distance += weights[what];
    to.differs.push(`${what} ${theirs}, not ${mine}`);
  }
}

function compareSize(to: Comparison, what: string, sizes: readonly [number, number | null]): void {
  const [mine, theirs] = sizes;
  if (theirs === null || theirs <= 0) return;
  const doublings = Math.abs(Math.log2(theirs / mine));
  to.distance += PER_DOUBLING * doublings;
  if (doublings < 1) to.same.push(`about as many ${what}`);
  else to.differs.push(`${(theirs / mine).toPrecision(2)} × the ${what}`);
}

function compare(query: EvidenceQuery, row: EvidenceRow): Comparison {
  const to: Comparison = { distance: 0, same: [], differs: [] };
  compareName(to, 'accelerator', [query.accelerator, row.accelerator]);
  compareName(to, 'kind', [query.kind, row.kind]);
  compareName(to, 'precision', [query.precision, row.precision]);
  if (query.stack !== null) compareName(to, 'stack', [query.stack, row.stack]);
  compareSize(to, 'parameters', [query.parameters, row.parameters]);
  compareSize(to, 'accelerators', [query.numAccelerators, row.numAccelerators]);
  compareSize(to, 'tokens in a sequence', [query.seqLen, row.seqLen]);
  return to;
}

/** Below this, accelerator, kind and precision are the same and sizes differ little: by eight doublings together. */
const NEAR = 2;

/**
 * The `count` predicted rows that are nearest to a plan, nearest first. Only rows that count (quality, no flags) are
 * taken: an error against a suspicious row says nothing.
 */
export function nearestEvidence(query: EvidenceQuery, rows: readonly EvidenceRow[], count: number): NearestEvidence {
  const neighbors = rows
    .filter((row) => row.counts && row.errorFraction !== null)
    .map((row) => ({ row, ...compare(query, row) }))
    .sort((a, b) => a.distance - b.distance || (a.row.id < b.row.id ? -1 : 1))
    .slice(0, count);
  const [nearest] = neighbors;
  if (nearest === undefined) return { neighbors, warning: 'There are no measured runs to compare with.' };
  const warning =
    nearest.distance < NEAR
      ? null
      : `No measured run is near this plan. The nearest differs: ${nearest.differs.join('; ')}. The error there says little about the error here.`;
  return { neighbors, warning };
}
