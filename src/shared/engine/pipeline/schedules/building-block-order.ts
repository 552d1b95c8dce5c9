/**
 * V schedules of less memory: one building block of six slots (a forward, an input gradient and a weight gradient of each
 * of the two chunks), repeated for every micro-batch. How many slots lie between a pass on one rank and on the next
 * decides how long activations live: their sum over down and up and over forward and back is 2 per hop for V-Min (a third
 * of 1F1B's memory) and 3 for V-Half (a half).
 *
 * Slots of micro-batch 0 on rank r, with c1…c3 the smallest that let no two passes of any micro-batches meet:
 * V-Min: F0 r, F1 c2−r, I1 c1+r, I0 c3−r; V-Half: F0 2r, F1 c2−r, I1 c1+2r, I0 c3−r.
 * Weight gradients take the oldest waiting input gradient whenever a slot is free.
 * Source: MODEL §3.6; Qi et al. 2024 (arXiv 2405.15362, pipeline parallelism with controllable memory); the offsets are
 * derived here from its condition that passes do not collide modulo the block.
 */
import { onePath, rankOrders, type PipelineOrder, type RankOrderBuilder } from '../order.ts';
import type { PipelineShape } from './types.ts';

const BLOCK_SLOTS = 6;

/** Slots per hop going down; going up it is always one. */
type DownHop = 1 | 2;

interface Offsets {
  readonly down: DownHop;
  readonly forwardUp: number;
  readonly backwardDown: number;
  readonly backwardUp: number;
}

/** Smallest value from `least` on that `isFree` accepts; one of six must. */
function firstFrom(least: number, isFree: (value: number) => boolean): number {
  for (let value = least; value < least + BLOCK_SLOTS; value++) if (isFree(value)) return value;
  throw new Error('no slot of the building block is free');
}

/** Whether two passes at a + x·r and b + y·r meet on any rank, modulo the block. */
function meet(pp: number, [a, x]: readonly [number, number], [b, y]: readonly [number, number]): boolean {
  for (let rank = 0; rank < pp; rank++) if ((a + x * rank - b - y * rank) % BLOCK_SLOTS === 0) return true;
  return false;
}

function offsetsOf(pp: number, down: DownHop): Offsets {
  const last = pp - 1;
  const first = [0, down] as const;
  // the turn on the last rank: its second chunk follows its first
  const forwardUp = firstFrom(down * last + 1 + last, (value) => !meet(pp, [value, -1], first));
  const up = [forwardUp, -1] as const;
  const backwardDown = firstFrom(
    forwardUp + 1,
    (value) => !meet(pp, [value, down], first) && !meet(pp, [value, down], up),
  );
  const back = [backwardDown, down] as const;
  const backwardUp = firstFrom(backwardDown + down * last + 1 + last, (value) =>
    [first, up, back].every((other) => !meet(pp, [value, -1], other)),
  );
  return { down, forwardUp, backwardDown, backwardUp };
}

interface SlotOperation {
  readonly slot: number;
  readonly pass: 'forward' | 'inputGradient';
  readonly stage: number;
  readonly microBatch: number;
}

function slotsOf(rank: number, pp: number, numMicroBatches: number, offsets: Offsets): SlotOperation[] {
  const { down, forwardUp, backwardDown, backwardUp } = offsets;
  const stages = [rank, 2 * pp - 1 - rank] as const;
  return Array.from({ length: numMicroBatches }, (_, microBatch): SlotOperation[] => {
    const base = BLOCK_SLOTS * microBatch;
    return [
      { slot: base + down * rank, pass: 'forward', stage: stages[0], microBatch },
      { slot: base + forwardUp - rank, pass: 'forward', stage: stages[1], microBatch },
      { slot: base + backwardDown + down * rank, pass: 'inputGradient', stage: stages[1], microBatch },
      { slot: base + backwardUp - rank, pass: 'inputGradient', stage: stages[0], microBatch },
    ];
  })
    .flat()
    .sort((a, b) => a.slot - b.slot);
}

function fillRank(builder: RankOrderBuilder, operations: readonly SlotOperation[]): void {
  const waiting: SlotOperation[] = [];
  let slot = operations[0]?.slot ?? 0;
  const runWaiting = () => {
    const oldest = waiting.shift();
    if (oldest !== undefined) builder.weightGradient(oldest.stage, oldest.microBatch);
  };
  for (const operation of operations) {
    for (; slot < operation.slot; slot++) runWaiting();
    builder[operation.pass](operation.stage, operation.microBatch);
    if (operation.pass === 'inputGradient') waiting.push(operation);
    slot++;
  }
  while (waiting.length > 0) runWaiting();
}

export function buildingBlockOrder({ pp, numMicroBatches }: PipelineShape, down: DownHop): PipelineOrder {
  const offsets = offsetsOf(pp, down);
  const ranks = rankOrders(pp, (rank, builder) => fillRank(builder, slotsOf(rank, pp, numMicroBatches, offsets)));
  return onePath('down-and-up', { pp, numMicroBatches, vpp: 2 }, ranks);
}
