/**
 * Latency of NCCL's algorithms and protocols before any byte moves, as its own tuner takes it.
 * Source: NCCL src/graph/tuning.cc (2026-06), base and per-step latencies in µs.
 */
export type Protocol = 'LL' | 'LL128' | 'Simple';
type Route = 'nvlink' | 'pci' | 'net';
type Latencies = Readonly<Record<Protocol, number>>;

const us = (LL: number, LL128: number, Simple: number): Latencies => ({
  LL: LL * 1e-6,
  LL128: LL128 * 1e-6,
  Simple: Simple * 1e-6,
});

const base = { ring: us(6.6, 14, 8.4), tree: us(6.8, 14, 8.4) } as const;
const step: Readonly<Record<'ring' | 'tree', Readonly<Record<Route, Latencies>>>> = {
  ring: { nvlink: us(0.6, 1.9, 3.4), pci: us(1, 2.5, 5.7), net: us(2.7, 4, 14) },
  tree: { nvlink: us(0.6, 1.25, 4), pci: us(1, 1.9, 4), net: us(5, 8.5, 14) },
};
/** Fixed cost of a reduction in the switches of the network (CollNet), s. */
export const COLLNET_BASE_SECONDS = 31e-6;

/** Share of the bandwidth that a protocol leaves for data: LL carries a flag with each word, LL128 one per line. */
export const protocolShare: Readonly<Record<Protocol, number>> = { LL: 0.5, LL128: 0.92, Simple: 1 };
export const protocols = Object.keys(protocolShare) as Protocol[];

export interface LatencyCall {
  algorithm: 'ring' | 'tree';
  operation: 'allReduce' | 'other';
  protocol: Protocol;
  ranks: number;
  /** Nodes that the ranks are spread over, evenly. */
  nodes: number;
  /** What joins the ranks of a node. */
  inside: 'nvlink' | 'pci';
}

/** Seconds before the first byte of a collective has gone all the way. */
export function ncclLatencySeconds({ algorithm, operation, protocol, ranks, nodes, inside }: LatencyCall): number {
  const costs = step[algorithm];
  const start = base[algorithm][protocol];
  if (algorithm === 'tree') {
    const depth = (ranks / nodes - 1) * costs[inside][protocol] + Math.log2(nodes) * costs.net[protocol];
    return start + 2 * depth;
  }
  const rounds = operation === 'allReduce' ? 2 : 1;
  const netSteps = nodes > 1 ? rounds * (nodes - 1) : 0;
  return start + (rounds * (ranks - 1) - netSteps) * costs[inside][protocol] + netSteps * costs.net[protocol];
}
