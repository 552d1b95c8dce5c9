/**
 * Two binary trees over the domains, each with half of the array: an all-reduce sends 2·S, a broadcast S, through the
 * NICs of all local members, and climbs ⌈log₂ domains⌉ levels (up and down again for all-reduce). Best for small arrays.
 * Source: MODEL §5.1 (NCCL's double binary tree, which reaches nearly the full bandwidth).
 */
import { localRanks, scaleOutOf } from '../links.ts';
import { callSeconds, localSeconds } from './local.ts';
import type { Algorithm } from './types.ts';

export const tree: Algorithm = {
  name: 'tree',
  label: 'double binary tree over the domains',
  source: 'MODEL §5.1',
  seconds(links, { op, group, bytes }) {
    const ranks = localRanks(links, group);
    if ((op !== 'allReduce' && op !== 'broadcast') || ranks >= group.size) return null;
    const rounds = op === 'allReduce' ? 2 : 1;
    const { bytesPerSecond, latencySeconds } = scaleOutOf(links, op, group);
    const network = (rounds * bytes) / (ranks * bytesPerSecond);
    const levels = Math.ceil(Math.log2(Math.ceil(group.size / ranks)));
    const inside = localSeconds(links, { op, group, bytes });
    return Math.max(network, inside) + callSeconds(links, op) + rounds * levels * latencySeconds;
  },
};
