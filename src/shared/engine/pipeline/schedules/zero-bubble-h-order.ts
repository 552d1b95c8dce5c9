/**
 * The two handmade zero-bubble schedules. Backward is cut in two: the input gradient, which the rank before waits for,
 * and the weight gradient, which nobody does and which fills what was idle.
 *
 * In slot x rank r runs F_x, I_{x−k(p−1−r)} and W_{x−k(p−1)}, with k = 1 (H1: the memory of 1F1B) or 2 (H2).
 * Source: MODEL §6; Qi et al. 2023 (arXiv 2401.10241), table 2.
 */
import { onePath, rankOrders, type PipelineOrder } from '../order.ts';
import type { PipelineShape } from './types.ts';

export function zeroBubbleOrder(shape: PipelineShape, k: 1 | 2): PipelineOrder {
  const { pp, numMicroBatches: m } = shape;
  const isOne = (index: number) => index >= 0 && index < m;
  const ranks = rankOrders(pp, (rank, builder) => {
    for (let x = 0; x < m + k * (pp - 1); x++) {
      const input = x - k * (pp - 1 - rank);
      const weight = x - k * (pp - 1);
      if (isOne(x)) builder.forward(rank, x);
      if (isOne(input)) builder.inputGradient(rank, input);
      if (isOne(weight)) builder.weightGradient(rank, weight);
    }
  });
  return onePath('one', shape, ranks);
}
