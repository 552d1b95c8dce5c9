/**
 * The order of ZB-V: two chunks per rank, the second on the way back up, so that the last stage lies on rank 0 and a
 * gradient is there as soon as the forward has come down and up again.
 * Source: MODEL §6; Qi et al. 2023 (arXiv 2401.10241) §6.
 */
import { onePath, rankOrders, type PipelineOrder, type RankOrderBuilder } from '../order.ts';
import type { PipelineShape } from './types.ts';

/** The next micro-batch of each pass through each of the two chunks of one rank. */
class Cursor {
  private readonly next: Record<'F' | 'I' | 'W', [number, number]> = { F: [0, 0], I: [0, 0], W: [0, 0] };
  private readonly builder: RankOrderBuilder;
  private readonly stages: readonly [number, number];

  constructor(builder: RankOrderBuilder, stages: readonly [number, number]) {
    this.builder = builder;
    this.stages = stages;
  }

  run(pass: 'F' | 'I' | 'W', chunk: 0 | 1): void {
    const stage = this.stages[chunk];
    const microBatch = this.next[pass][chunk]++;
    if (pass === 'F') this.builder.forward(stage, microBatch);
    else if (pass === 'I') this.builder.inputGradient(stage, microBatch);
    else this.builder.weightGradient(stage, microBatch);
  }

  done(pass: 'F' | 'I' | 'W', chunk: 0 | 1): number {
    return this.next[pass][chunk];
  }
}

function fillRank(cursor: Cursor, rank: number, pp: number, m: number): void {
  const repeat = (times: number, body: () => void) => {
    for (let i = 0; i < times; i++) body();
  };
  repeat(2 * (pp - rank) - 1, () => cursor.run('F', 0));
  repeat(rank, () => {
    cursor.run('F', 1);
    cursor.run('F', 0);
  });
  repeat(pp - rank, () => {
    cursor.run('F', 1);
    cursor.run('I', 1);
    cursor.run('W', 1);
  });
  while (cursor.done('F', 1) < m) {
    if (cursor.done('F', 0) < m) cursor.run('F', 0);
    cursor.run('I', 0);
    cursor.run('W', 0);
    cursor.run('F', 1);
    cursor.run('I', 1);
    cursor.run('W', 1);
  }
  repeat(rank, () => {
    cursor.run('I', 0);
    cursor.run('I', 1);
  });
  repeat(pp - rank, () => {
    cursor.run('I', 0);
    cursor.run('W', 0);
  });
  while (cursor.done('W', 1) < m) cursor.run('W', 1);
  while (cursor.done('W', 0) < m) cursor.run('W', 0);
}

export function zeroBubbleVOrder(shape: PipelineShape): PipelineOrder {
  const { pp, numMicroBatches } = shape;
  const ranks = rankOrders(pp, (rank, builder) =>
    fillRank(new Cursor(builder, [rank, 2 * pp - 1 - rank]), rank, pp, numMicroBatches),
  );
  return onePath('down-and-up', { pp, numMicroBatches, vpp: 2 }, ranks);
}
