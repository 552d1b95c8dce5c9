/**
 * Groups of ranks on a cluster, and the seconds their communication takes.
 *
 * Ranks are numbered tp fastest, then cp, ep, dp, pp (Megatron-LM's default order). A group whose members lie `stride`
 * apart keeps min(size, domain ÷ stride) of them inside one scale-up domain; the rest is reached through the NICs.
 * Source: MODEL §5.1 (costs), §5.5 (placement); collectives inside a domain from measured curves, docs/KERNELS.md.
 */
import { busFactor, collectiveSeconds, type CollectiveCurves, type CollectiveOp } from '../kernels/index.ts';
import { greatestCommonDivisor } from '../divisors.ts';
import type { Problem } from '../problem.ts';

/** A communicator: how many ranks, and how many of them share one scale-up domain. */
export interface Group {
  size: number;
  ranksPerDomain: number;
}

/** What of a problem decides how long its messages take. */
export interface Links {
  collectives: CollectiveCurves;
  domainSize: number;
  /** Effective scale-up bandwidth relative to the part that the curves were measured on. */
  scaleUpRatio: number;
  /** Effective bandwidth of one accelerator's scale-up links, bytes/s per direction. */
  scaleUpBytesPerSecond: number;
  /** Effective bandwidth of one accelerator's NICs, bytes/s per direction. */
  scaleOutBytesPerSecond: number;
  scaleOutLatencySeconds: number;
}

export type Placement = 'scale-up' | 'scale-out';

/** Fixed cost of one scale-up hop for a point-to-point message. Source: MODEL §5.1, NVLink hop 1–4 µs, kernel ~5. */
const SCALE_UP_HOP_SECONDS = 8e-6;

export function linksOf(problem: Problem): Links {
  const { network, device, calibration } = problem;
  const curves = calibration.kernels.accelerators[device.collectiveCurves];
  if (curves === undefined) throw new Error(`no collective curves for ${device.collectiveCurves}`);
  const { scaleUpEfficiency, scaleOutEfficiency } = calibration.parameters;
  return {
    collectives: curves.collective,
    domainSize: network.scaleUpDomainSize,
    scaleUpRatio: (scaleUpEfficiency * network.scaleUpBytesPerSecond) / device.ratedScaleUpBytesPerSecond,
    // a copy between two peers reaches about 0.8 of the datasheet rate (MODEL §5.1)
    scaleUpBytesPerSecond: 0.8 * scaleUpEfficiency * network.scaleUpBytesPerSecond,
    scaleOutBytesPerSecond: scaleOutEfficiency * network.scaleOutBytesPerSecond,
    scaleOutLatencySeconds: network.scaleOutLatencySeconds,
  };
}

/**
 * The group of `size` ranks that lie `stride` ranks apart, within an aligned block of `span` ranks (the ranks between its
 * members included). A block that divides a domain lies inside one. One that is smaller but does not divide it straddles
 * two in places, with gcd(block, domain) of its ranks on the smaller side: the slowest such group sets the pace.
 */
export function groupOf(domainSize: number, size: number, stride: number, span = size * stride): Group {
  if (domainSize % span === 0) return { size, ranksPerDomain: size };
  if (span < domainSize)
    return { size, ranksPerDomain: Math.max(1, Math.floor(greatestCommonDivisor(span, domainSize) / stride)) };
  return { size, ranksPerDomain: Math.min(size, Math.max(1, Math.floor(domainSize / stride))) };
}

export function placementOf(group: Group): Placement {
  return group.ranksPerDomain >= group.size ? 'scale-up' : 'scale-out';
}

/**
 * Latency of the inter-domain steps: a ring passes every domain once per direction, a tree climbs log2 of them.
 * All-reduce has both and takes the better; gather, scatter and all-to-all have rings only.
 */
function scaleOutLatency(links: Links, op: CollectiveOp, numDomains: number): number {
  const rounds = op === 'allReduce' ? 2 : 1;
  const ring = rounds * (numDomains - 1) * links.scaleOutLatencySeconds;
  if (op !== 'allReduce') return ring;
  return Math.min(ring, 2 * Math.ceil(Math.log2(numDomains)) * links.scaleOutLatencySeconds);
}

/**
 * Seconds of one collective over `bytes` (the whole array, as nccl-tests counts it); 0 for one rank.
 *
 * Inside a domain: the measured curve, its bytes scaled to the cluster's own links. Across domains: a ring that uses the
 * NICs of all its local ranks at once, so that the slower of scale-up and `ranksPerDomain` NICs carries
 * busFactor·bytes; latency as above.
 */
export function groupSeconds(links: Links, op: CollectiveOp, group: Group, bytes: number): number {
  if (group.size <= 1 || bytes <= 0) return 0;
  const local = { op, bytes: bytes / links.scaleUpRatio, numRanks: group.ranksPerDomain };
  if (placementOf(group) === 'scale-up') return collectiveSeconds(links.collectives, local);
  const nicBytesPerSecond = group.ranksPerDomain * links.scaleOutBytesPerSecond;
  const scaleOut = (busFactor(op, group.size) * bytes) / nicBytesPerSecond;
  const numDomains = Math.ceil(group.size / group.ranksPerDomain);
  const base = collectiveSeconds(links.collectives, { op, bytes: 1, numRanks: 2 });
  return (
    Math.max(scaleOut, collectiveSeconds(links.collectives, local)) + base + scaleOutLatency(links, op, numDomains)
  );
}

/** Seconds of one point-to-point message. */
export function sendSeconds(links: Links, bytes: number, placement: Placement): number {
  if (placement === 'scale-up') return SCALE_UP_HOP_SECONDS + bytes / links.scaleUpBytesPerSecond;
  return links.scaleOutLatencySeconds + bytes / links.scaleOutBytesPerSecond;
}

/**
 * Where the sends between pipeline stages go. A pipeline is as fast as its slowest boundary, and with more accelerators
 * than one domain holds some boundary always lies between two.
 */
export function sendPlacement(numAccelerators: number, domainSize: number): Placement {
  return numAccelerators <= domainSize ? 'scale-up' : 'scale-out';
}
