/**
 * The order of interleaved 1F1B. Virtual step k of a rank works on chunk ⌊k mod gv ÷ g⌋ of micro-batch
 * ⌊k ÷ gv⌋·g + k mod g, where g micro-batches pass one chunk before the next; backward takes the chunks in reverse. After
 * w = 2(p−r−1) + (v−1)g forwards a rank runs one forward and one backward in turn.
 * Source: MODEL §6; Megatron-LM pipeline_parallel/schedules.py (get_pp_rank_microbatches, get_schedule_table).
 */
import { onePath, rankOrders, type PipelineOrder } from '../order.ts';
import type { PipelineShape } from './types.ts';

/** Forwards of rank `rank` before its first backward. */
export function warmUpSteps({ pp, vpp, numMicroBatches }: PipelineShape, groupSize: number, rank: number): number {
  return Math.min(2 * (pp - rank - 1) + (vpp - 1) * groupSize, numMicroBatches * vpp);
}

export function interleavedOrder(shape: PipelineShape, groupSize: number): PipelineOrder {
  const { pp, vpp, numMicroBatches } = shape;
  const steps = numMicroBatches * vpp;
  const cycle = groupSize * vpp;
  const chunkOf = (k: number) => Math.floor((k % cycle) / groupSize);
  const microBatchOf = (k: number) => Math.floor(k / cycle) * groupSize + (k % groupSize);
  const ranks = rankOrders(pp, (rank, builder) => {
    const warmUp = warmUpSteps(shape, groupSize, rank);
    const forward = (k: number) => builder.forward(chunkOf(k) * pp + rank, microBatchOf(k));
    const backward = (k: number) => builder.backward((vpp - 1 - chunkOf(k)) * pp + rank, microBatchOf(k));
    for (let k = 0; k < warmUp; k++) forward(k);
    for (let k = 0; k < steps; k++) {
      if (k + warmUp < steps) forward(k + warmUp);
      backward(k);
    }
  });
  return onePath('around', shape, ranks);
}
