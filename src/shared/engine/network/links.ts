/**
 * What of a problem decides how long its messages take: links of a domain by their wiring, PCIe of a node, NICs, and the
 * levels of the network. Bandwidths are effective and per direction. Source: MODEL §5.1, §5.5.
 */
import type { CollectiveCurves } from '../kernels/index.ts';
import type { Network, Problem } from '../problem.ts';
import { ranksWithin, type Group } from './groups.ts';

export type NetworkOp = 'allReduce' | 'allGather' | 'reduceScatter' | 'allToAll' | 'broadcast';
export type Placement = 'scale-up' | 'node' | 'scale-out';

export interface Links {
  collectives: CollectiveCurves;
  /** The collectives were measured over PCIe: they hold for a node without scale-up links. */
  isMeasuredOverPcie: boolean;
  domainSize: number;
  acceleratorsPerNode: number;
  scaleUpKind: Network['scaleUpKind'];
  /** Effective scale-up bandwidth relative to the part that the curves were measured on. */
  scaleUpRatio: number;
  /** The same for PCIe inside a node. */
  nodeRatio: number;
  /** One scale-up link as a share of all of an accelerator's. */
  linkShare: number;
  /** Effective bandwidth to one peer of the domain, bytes/s per direction. */
  scaleUpBytesPerSecond: number;
  /** Effective bandwidth between accelerators of a node that no scale-up link joins, bytes/s per direction. */
  nodeBytesPerSecond: number;
  /** Effective bandwidth of one accelerator's NICs, bytes/s per direction. */
  scaleOutBytesPerSecond: number;
  scaleOutLatencySeconds: number;
  tiers: Network['tiers'];
  inNetworkReduction: boolean;
}

/** Share of the datasheet rate that a copy between two peers reaches: 0.88 measured for large ones (MODEL §5.1). */
const COPY_SHARE = 0.8;
/** Share of PCIe's rate: 24–26 of 32 GB/s and about 50 of 64 are measured (ml-engineering). */
const PCIE_SHARE = 0.8;

export function linksOf(problem: Problem): Links {
  const { network, device, calibration } = problem;
  const curves = calibration.kernels.accelerators[device.collectiveCurves];
  if (curves === undefined) throw new Error(`no collective curves for ${device.collectiveCurves}`);
  const { scaleUpEfficiency, scaleOutEfficiency } = calibration.parameters;
  const linkShare = Math.min(1, network.scaleUpLinkBytesPerSecond / network.scaleUpBytesPerSecond);
  return {
    collectives: curves.collective,
    isMeasuredOverPcie: device.isMeasuredOverPcie,
    domainSize: network.scaleUpDomainSize,
    acceleratorsPerNode: network.acceleratorsPerNode,
    scaleUpKind: network.scaleUpKind,
    scaleUpRatio: (scaleUpEfficiency * network.scaleUpBytesPerSecond) / device.ratedScaleUpBytesPerSecond,
    nodeRatio: (scaleUpEfficiency * network.nodeBytesPerSecond) / device.ratedScaleUpBytesPerSecond,
    linkShare,
    scaleUpBytesPerSecond: COPY_SHARE * scaleUpEfficiency * network.scaleUpBytesPerSecond * linkShare,
    nodeBytesPerSecond: PCIE_SHARE * network.nodeBytesPerSecond,
    scaleOutBytesPerSecond: scaleOutEfficiency * network.scaleOutBytesPerSecond,
    scaleOutLatencySeconds: network.scaleOutLatencySeconds,
    tiers: network.tiers,
    inNetworkReduction: network.inNetworkReduction,
  };
}

/** How many accelerators share a domain and a node. */
type Neighbourhood = Pick<Links, 'domainSize' | 'acceleratorsPerNode'>;

/** Members of a group that share a node, or a domain where that is larger: what lies beyond is reached through NICs. */
export function localRanks({ acceleratorsPerNode, domainSize }: Neighbourhood, group: Group): number {
  if (acceleratorsPerNode <= domainSize) return group.ranksPerDomain;
  return Math.max(group.ranksPerDomain, ranksWithin(acceleratorsPerNode, group));
}

/** The slowest links that a group's messages cross. */
export function placementOf(group: Group, where?: Neighbourhood): Placement {
  if (group.ranksPerDomain >= group.size) return 'scale-up';
  return where !== undefined && localRanks(where, group) >= group.size ? 'node' : 'scale-out';
}

/**
 * Share of an accelerator's scale-up bandwidth that `ranks` of a domain reach together.
 *
 * switched: all. pairwise: ranks−1 of the links, one to each peer. ring: all of it round the whole ring, half along a part
 * of it, whose ends have one neighbour. torus of side L: as a ring along each of the axes that the group fills.
 * All-to-all pays the distance as well: a quarter of the side on average round a ring, half of it along a line.
 */
export function scaleUpShare({ scaleUpKind, linkShare, domainSize }: Links, op: NetworkOp, ranks: number): number {
  if (scaleUpKind === 'switched' || ranks <= 1) return 1;
  if (scaleUpKind === 'pairwise') return Math.min(1, (ranks - 1) * linkShare);
  const link = scaleUpKind === 'ring' ? 1 / 2 : linkShare;
  const numAxes = Math.max(1, Math.round(1 / (2 * link)));
  const side = Math.max(2, Math.round(domainSize ** (1 / numAxes)));
  const axes = Math.min(numAxes, Math.max(1, Math.ceil(Math.log(ranks) / Math.log(side) - 1e-9)));
  const directions = ranks >= side ? 2 : 1;
  const share = Math.min(1, axes * directions * link);
  if (op !== 'allToAll') return share;
  // every byte crosses axes · length/4 links on average round rings, twice as many along lines
  const hops = (axes * Math.min(side, ranks)) / (2 * directions);
  return share / Math.max(1, hops);
}

/** What the levels of the network leave of the NICs, and the latency of a message to the far end. */
export function scaleOutOf(links: Links, op: NetworkOp | 'send', group: Group) {
  let share = 1;
  let latencySeconds = links.scaleOutLatencySeconds;
  for (const tier of links.tiers) {
    const ranks = ranksWithin(tier.accelerators, group);
    if (ranks >= group.size) break;
    share = Math.min(share, tierShare(op, group.size, ranks, tier.oversubscription));
    latencySeconds = Math.max(latencySeconds, tier.latencySeconds ?? 0);
  }
  return { bytesPerSecond: share * links.scaleOutBytesPerSecond, latencySeconds };
}

/**
 * Share of the NICs' rate where a group has `ranks` of its members in each block of a level whose uplinks are
 * oversubscribed ω. Rings, trees and sends leave a block once per direction for all its members together, while the
 * blocks' other accelerators do the same in groups of their own: ranks/ω, at most 1. All-to-all sends the part
 * (size − ranks)/(size − 1) of everything across: 1/(ω·part).
 */
function tierShare(op: NetworkOp | 'send', size: number, ranks: number, oversubscription: number): number {
  if (op !== 'allToAll') return Math.min(1, ranks / oversubscription);
  return Math.min(1, (size - 1) / (oversubscription * (size - ranks)));
}
