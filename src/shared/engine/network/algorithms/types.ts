/**
 * A collective algorithm: one file each, listed in index.ts. The fastest that can run is chosen and named.
 *
 * To add one: a file that exports an `Algorithm`, and its entry in the list.
 */
import type { Group } from '../groups.ts';
import type { Links, NetworkOp } from '../links.ts';

/** One collective: `bytes` is the whole array, as nccl-tests counts it. */
export interface Transfer {
  op: NetworkOp;
  group: Group;
  bytes: number;
}

export interface Algorithm {
  /** Key, e.g. `ring`. */
  name: string;
  /** What people read, e.g. "ring through all NICs of a node". */
  label: string;
  /** Where the formula is from. */
  source: string;
  /** Seconds, or null where it cannot run: the operation, the links or the group do not allow it. */
  seconds(links: Links, transfer: Transfer): number | null;
}
