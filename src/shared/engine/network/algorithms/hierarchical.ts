/**
 * All-reduce in levels: reduce-scatter inside a domain, all-reduce of each part between the k domains over its own NIC,
 * all-gather inside. In chunks, so that the levels overlap: the slower level is seen, and of the other one chunk.
 *
 * t = max(inside, between) + min(inside, between)/chunks, between = 2·(k−1)/k·(S/g)/B.
 * Source: MODEL §5.1. NCCL's NVLSTree and Tree do this; 4 GiB over 4 × 8 B200 take 22.05 ms, between 16.1 ms (all
 * overlapped, at line rate) and 26.3 ms (none) (ml-engineering).
 */
import { localRanks, scaleOutOf } from '../links.ts';
import { callSeconds, localSeconds } from './local.ts';
import type { Algorithm } from './types.ts';

/** Chunks that an array is cut into. Chosen: NCCL keeps eight slots of its buffers in flight (NCCL_STEPS). */
export const NUM_CHUNKS = 8;

/** Seconds of two levels that overlap in chunks. */
export function overlapped(inside: number, between: number): number {
  return Math.max(inside, between) + Math.min(inside, between) / NUM_CHUNKS;
}

/** Bytes that each of g NICs moves when k domains reduce their parts in rings: 2·(k−1)/k·S/g. */
export const bytesBetween = (bytes: number, domains: number, ranks: number): number =>
  (2 * ((domains - 1) / domains) * bytes) / ranks;

export const hierarchical: Algorithm = {
  name: 'hierarchical',
  label: 'reduced inside each domain, then between them, in chunks',
  source: 'MODEL §5.1',
  seconds(links, { op, group, bytes }) {
    const ranks = localRanks(links, group);
    if (op !== 'allReduce' || ranks === 1 || ranks >= group.size) return null;
    const domains = Math.ceil(group.size / ranks);
    const { bytesPerSecond, latencySeconds } = scaleOutOf(links, op, group);
    const between = bytesBetween(bytes, domains, ranks) / bytesPerSecond;
    const inside = localSeconds(links, { op, group, bytes });
    const hops = 2 * Math.min(domains - 1, Math.ceil(Math.log2(domains)));
    return overlapped(inside, between) + callSeconds(links, op) + hops * latencySeconds;
  },
};
