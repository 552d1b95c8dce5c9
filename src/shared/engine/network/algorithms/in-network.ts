/**
 * All-reduce in the switches of the network (SHARP): every NIC sends its part once and receives the sum once, instead of
 * passing it round: S·(1 + 1/k)/g per NIC instead of 2·S·(k−1)/(k·g). The parts are made and joined inside each domain.
 * Source: MODEL §5.1; NCCL's CollNet and its latency (src/graph/tuning.cc).
 */
import { localRanks, scaleOutOf } from '../links.ts';
import { COLLNET_BASE_SECONDS } from '../nccl-latency.ts';
import { overlapped } from './hierarchical.ts';
import { localSeconds } from './local.ts';
import type { Algorithm } from './types.ts';

export const inNetwork: Algorithm = {
  name: 'in-network',
  label: 'reduced in the switches of the network (SHARP)',
  source: 'MODEL §5.1',
  seconds(links, { op, group, bytes }) {
    const ranks = localRanks(links, group);
    if (op !== 'allReduce' || !links.inNetworkReduction || ranks >= group.size) return null;
    const domains = Math.ceil(group.size / ranks);
    const { bytesPerSecond, latencySeconds } = scaleOutOf(links, op, group);
    const between = (bytes * (1 + 1 / domains)) / ranks / bytesPerSecond;
    const inside = localSeconds(links, { op, group, bytes });
    return overlapped(inside, between) + COLLNET_BASE_SECONDS + 2 * latencySeconds;
  },
};
