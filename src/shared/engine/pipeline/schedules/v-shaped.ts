/**
 * The V schedules: two chunks per rank, the second on the way back up. ZB-V idles as little as ZB-H2 in the memory of
 * 1F1B; V-Half and V-Min give up idle time for a half and about a third of it.
 *
 * ZB-V with equal ranks and i ≥ f: m·t + (p−1)·max(i/2, i−w), of which (p−1)·f/2 is the skew of a rank's start; zero bubble
 * (cost m·t) iff f = i = w. All times here come from the simulation, which is exact for uneven ranks too.
 * In flight, of a rank's two chunks: ZB-V p on every rank (its weight gradients follow at once); V-Half and V-Min what
 * their order holds at once.
 * Source: MODEL §6 and §3.6; Qi et al. 2023 §6 (arXiv 2401.10241), Qi et al. 2024 (arXiv 2405.15362).
 */
import { peakActivations } from '../simulate.ts';
import { buildingBlockOrder } from './building-block-order.ts';
import { simulatedSeconds } from './simulated.ts';
import { WEIGHT_GRADIENT_SHARE, type PipelineShape, type Schedule } from './types.ts';
import { zeroBubbleVOrder } from './zero-bubble-v-order.ts';

const common = {
  placement: 'down-and-up',
  splitsBackward: true,
  weightVersions: 1,
  modelCopies: 1,
  sendsPerMicroBatch: () => 2,
} as const;

export const zeroBubbleV: Schedule = {
  ...common,
  label: 'ZB-V',
  needs: { chunks: 'two', leastMicroBatches: ({ pp }) => 2 * pp - 1 },
  inFlight: ({ pp, numMicroBatches }) => Math.min(pp, numMicroBatches),
  seconds: (shape, stage) => simulatedSeconds(zeroBubbleVOrder, shape, stage),
  order: zeroBubbleVOrder,
};

const vMinOrder = (shape: PipelineShape) => buildingBlockOrder(shape, 1);
const vHalfOrder = (shape: PipelineShape) => buildingBlockOrder(shape, 2);

/** Peaks of the last shape asked for: memory asks for one rank after the other. */
function remembered(orderOf: Schedule['order']): Schedule['inFlight'] {
  let last: { key: string; peaks: ArrayLike<number> } = { key: '', peaks: [] };
  return (shape, rank) => {
    const key = `${shape.pp}/${shape.numMicroBatches}`;
    if (last.key !== key) last = { key, peaks: peakActivations(orderOf(shape), WEIGHT_GRADIENT_SHARE) };
    return (last.peaks[rank] ?? 0) / 2;
  };
}

export const vHalf: Schedule = {
  ...common,
  label: 'V-Half',
  needs: { chunks: 'two', leastMicroBatches: ({ pp }) => pp },
  inFlight: remembered(vHalfOrder),
  seconds: (shape, stage) => simulatedSeconds(vHalfOrder, shape, stage),
  order: vHalfOrder,
};

export const vMin: Schedule = {
  ...common,
  label: 'V-Min',
  needs: { chunks: 'two', leastMicroBatches: ({ pp }) => pp },
  inFlight: remembered(vMinOrder),
  seconds: (shape, stage) => simulatedSeconds(vMinOrder, shape, stage),
  order: vMinOrder,
};
