/**
 * All-to-all as pairwise messages: of what a rank sends, the part for members outside its node goes through its own NIC
 * while the part for those inside goes over local links. Messages are posted one after the other, at the cost of a step of the
 * measured all-to-all, and travel at once.
 * Source: MODEL §5.1 (NCCL sends all-to-all as grouped point-to-point messages).
 */
import { localRanks, scaleOutOf } from '../links.ts';
import { callSeconds, localSeconds } from './local.ts';
import type { Algorithm } from './types.ts';

export const direct: Algorithm = {
  name: 'direct',
  label: 'messages between all pairs',
  source: 'MODEL §5.1',
  seconds(links, { op, group, bytes }) {
    const ranks = localRanks(links, group);
    if (op !== 'allToAll' || ranks >= group.size) return null;
    const { size } = group;
    const { bytesPerSecond, latencySeconds } = scaleOutOf(links, op, group);
    const network = (bytes * (size - ranks)) / size / bytesPerSecond;
    const inside = localSeconds(links, { op, group, bytes: (bytes * ranks) / size });
    const posting = (size - ranks) * links.collectives.allToAll.stepSeconds;
    return Math.max(network, inside) + callSeconds(links, op) + posting + latencySeconds;
  },
};
