/**
 * A collective inside one scale-up domain, or inside one node over PCIe.
 *
 * Inside a domain NCCL's own choice was measured as a whole (rings, trees and reduction in the NVLink switch alike): the
 * curve holds, its bytes scaled to the cluster's links. Over PCIe it holds for parts that were measured there; for others
 * a ring with NCCL's own latencies is taken. Source: MODEL §5.1, docs/KERNELS.md; NCCL src/graph/tuning.cc.
 */
import {
  busFactor as measuredBusFactor,
  collectiveSeconds,
  ringStepSeconds,
  type CollectiveOp,
} from '../../kernels/index.ts';
import { localRanks, scaleUpShare, type Links, type NetworkOp } from '../links.ts';
import { ncclLatencySeconds, protocols, protocolShare } from '../nccl-latency.ts';
import type { Algorithm, Transfer } from './types.ts';

/** Bytes that cross the slowest link per byte of the array. Source: nccl-tests doc/PERFORMANCE.md; broadcast 1. */
export function busFactor(op: NetworkOp, numRanks: number): number {
  return op === 'broadcast' ? 1 : measuredBusFactor(op, numRanks);
}

/** A broadcast moves its array through every rank, as a gather does with an array of n/(n−1) of its size. */
function curveSeconds(links: Links, op: NetworkOp, bytes: number, numRanks: number): number {
  if (op !== 'broadcast') return collectiveSeconds(links.collectives, { op, bytes, numRanks });
  const gathered = (bytes * numRanks) / Math.max(1, numRanks - 1);
  return collectiveSeconds(links.collectives, { op: 'allGather', bytes: gathered, numRanks });
}

/** Seconds over the scale-up links of `ranks` members that share a domain. */
function domainSeconds(links: Links, op: NetworkOp, bytes: number, ranks: number): number {
  if (ranks <= 1 || bytes <= 0) return 0;
  return curveSeconds(links, op, bytes / (links.scaleUpRatio * scaleUpShare(links, op, ranks)), ranks);
}

/**
 * Seconds of a ring of `ranks` members over PCIe. Those that share scale-up links cross with each of their PCIe links, as
 * many as the scale-up links can feed.
 */
function pcieSeconds(links: Links, { op, group, bytes }: Transfer, ranks: number): number {
  if (links.isMeasuredOverPcie) return curveSeconds(links, op, bytes / links.nodeRatio, ranks);
  const perDomain = group.ranksPerDomain;
  const fed = Math.max(1, links.scaleUpBytesPerSecond / links.nodeBytesPerSecond);
  const width = op === 'allToAll' ? 1 : Math.min(perDomain, fed);
  const transfer = (busFactor(op, ranks) * bytes) / (width * links.nodeBytesPerSecond);
  const operation = op === 'allReduce' ? 'allReduce' : 'other';
  let best = Infinity;
  for (const protocol of protocols) {
    const latency = ncclLatencySeconds({ algorithm: 'ring', operation, protocol, ranks, nodes: 1, inside: 'pci' });
    best = Math.min(best, latency + transfer / protocolShare[protocol]);
  }
  return Math.max(best, domainSeconds(links, op, bytes, perDomain));
}

/** Seconds of a collective among the members that share a domain or node, `bytes` of the whole array. */
export function localSeconds(links: Links, transfer: Transfer): number {
  const { op, group, bytes } = transfer;
  const ranks = localRanks(links, group);
  if (ranks <= 1 || bytes <= 0) return 0;
  if (ranks <= group.ranksPerDomain) return domainSeconds(links, op, bytes, ranks);
  return pcieSeconds(links, transfer, ranks);
}

const curveOp = (op: NetworkOp): CollectiveOp => (op === 'broadcast' ? 'allGather' : op);

/** Seconds that a ring over `ranks` loses between two neighbours of a domain, besides the bytes. */
export function stepSeconds(links: Links, op: NetworkOp, bytes: number, ranks: number): number {
  return ringStepSeconds(links.collectives[curveOp(op)], bytes / ranks);
}

/** The smallest possible call: what starting a collective costs. */
export function callSeconds(links: Links, op: NetworkOp): number {
  return collectiveSeconds(links.collectives, { op: curveOp(op), bytes: 1, numRanks: 2 });
}

export const local: Algorithm = {
  name: 'local',
  label: 'the library’s choice inside a domain or node, measured',
  source: 'MODEL §5.1',
  seconds(links, transfer) {
    const { group } = transfer;
    return localRanks(links, group) < group.size ? null : localSeconds(links, transfer);
  },
};
