/**
 * One ring through all members that uses the NICs of all local members at once: the slower of NICs and local links
 * carries busFactor·S. Latency: a step from each member to the next, twice for all-reduce; into another domain it takes
 * the network's latency, else a step of the measured ring.
 * Source: MODEL §5.1 (NCCL's ring and how its tuner counts steps; nccl-tests' bus factors).
 */
import { localRanks, scaleOutOf } from '../links.ts';
import { busFactor, callSeconds, localSeconds, stepSeconds } from './local.ts';
import type { Algorithm } from './types.ts';

export const ring: Algorithm = {
  name: 'ring',
  label: 'ring through the NICs of all local ranks',
  source: 'MODEL §5.1',
  seconds(links, { op, group, bytes }) {
    const ranks = localRanks(links, group);
    if (op === 'allToAll' || ranks >= group.size) return null;
    const { bytesPerSecond, latencySeconds } = scaleOutOf(links, op, group);
    const network = (busFactor(op, group.size) * bytes) / (ranks * bytesPerSecond);
    const rounds = op === 'allReduce' ? 2 : 1;
    const hops = rounds * (Math.ceil(group.size / ranks) - 1);
    const steps = rounds * (group.size - 1) - hops;
    const latency = hops * latencySeconds + steps * stepSeconds(links, op, bytes, group.size);
    const inside = localSeconds(links, { op, group, bytes });
    return Math.max(network, inside) + callSeconds(links, op) + latency;
  },
};
