/**
 * Groups of ranks on a cluster, and the seconds their communication takes.
 *
 * A group is placed by its strides (groups.ts), its links follow from the wiring (links.ts), and of the algorithms
 * (algorithms/) the fastest that can run is taken and named. Source: MODEL §5.1 (costs), §5.5 (placement).
 */
import { algorithms, type Algorithm, type Transfer } from './algorithms/index.ts';
import type { Group } from './groups.ts';
import { placementOf, scaleOutOf, type Links, type NetworkOp, type Placement } from './links.ts';

export { algorithms, type Algorithm, type Transfer } from './algorithms/index.ts';
export { hierarchical } from './algorithms/hierarchical.ts';
export { ring } from './algorithms/ring.ts';
export {
  groupAcross,
  groupOf,
  groupsOf,
  parseRankOrder,
  ranksWithin,
  splitGroup,
  type Group,
  type GroupDimension,
  type PlanGroups,
} from './groups.ts';
export { linksOf, placementOf, type Links, type NetworkOp, type Placement } from './links.ts';
export { ncclLatencySeconds } from './nccl-latency.ts';
export * as volumes from './volumes.ts';

/** Fixed cost of one scale-up hop for a point-to-point message. Source: MODEL §5.1, NVLink hop 1–4 µs, kernel ~5. */
const SCALE_UP_HOP_SECONDS = 8e-6;

/** The fastest algorithm for a collective and its seconds; null for one rank or no bytes. */
export function bestAlgorithm(links: Links, transfer: Transfer): { algorithm: Algorithm; seconds: number } | null {
  if (transfer.group.size <= 1 || transfer.bytes <= 0) return null;
  let best: { algorithm: Algorithm; seconds: number } | null = null;
  for (const algorithm of algorithms) {
    const seconds = algorithm.seconds(links, transfer);
    if (seconds !== null && (best === null || seconds < best.seconds)) best = { algorithm, seconds };
  }
  if (best === null) throw new Error(`no algorithm for ${transfer.op} over ${transfer.group.size} ranks`);
  return best;
}

/**
 * Seconds of one collective over `bytes` (the whole array, as nccl-tests counts it; for all-to-all what one rank sends,
 * its own part included) by the fastest algorithm; 0 for one rank.
 */
export function groupSeconds(links: Links, op: NetworkOp, group: Group, bytes: number): number {
  return bestAlgorithm(links, { op, group, bytes })?.seconds ?? 0;
}

/** Seconds of one point-to-point message; with its group, the levels of the network that it crosses count as well. */
export function sendSeconds(links: Links, bytes: number, placement: Placement, group?: Group): number {
  if (placement === 'scale-up') return SCALE_UP_HOP_SECONDS + bytes / links.scaleUpBytesPerSecond;
  if (placement === 'node') return SCALE_UP_HOP_SECONDS + bytes / links.nodeBytesPerSecond;
  if (group === undefined) return links.scaleOutLatencySeconds + bytes / links.scaleOutBytesPerSecond;
  const { bytesPerSecond, latencySeconds } = scaleOutOf(links, 'send', group);
  return latencySeconds + bytes / bytesPerSecond;
}

/** Seconds of one message between neighbours of a group, at its slowest place: a pipeline waits for that one. */
export function neighbourSeconds(links: Links, bytes: number, group: Group): number {
  return group.size <= 1 ? 0 : sendSeconds(links, bytes, placementOf(group, links), group);
}
