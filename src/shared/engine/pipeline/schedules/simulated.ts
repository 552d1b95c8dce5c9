/**
 * Pipeline seconds of schedules without a closed form that holds for all times of their passes: the simulation itself,
 * with each rank's own times, shared evenly by what it holds. Orders of recent shapes are remembered.
 */
import type { PipelineOrder } from '../order.ts';
import { simulate, type StageTimes } from '../simulate.ts';
import { slowestSeconds, type PipelineSeconds, type PipelineShape, type Schedule, type StageSeconds } from './types.ts';

type OrderOf = Schedule['order'];

const REMEMBERED = 32;
const known = new WeakMap<OrderOf, Map<string, PipelineOrder>>();

/** The order of a shape, remembered per schedule. */
function orderFor(orderOf: OrderOf, shape: PipelineShape): PipelineOrder {
  let orders = known.get(orderOf);
  if (orders === undefined) known.set(orderOf, (orders = new Map<string, PipelineOrder>()));
  const key = `${shape.pp}/${shape.numMicroBatches}`;
  let order = orders.get(key);
  if (order === undefined) {
    if (orders.size >= REMEMBERED) orders.clear();
    orders.set(key, (order = orderOf(shape)));
  }
  return order;
}

/** Times of every stage: each rank's time, shared evenly by its chunks. A second copy of the model takes as long. */
export function stageTimes(order: PipelineOrder, stage: StageSeconds): StageTimes {
  const { numStages, stagesPerPath, rankOfStage } = order;
  const chunks = stagesPerPath / order.ranks.length;
  const ofStage = (valueOf: (rank: number) => number) =>
    Float64Array.from({ length: numStages }, (_, index) => valueOf(rankOfStage[index % stagesPerPath] ?? 0) / chunks);
  const total = (rank: number) => stage.perRank[rank] ?? 0;
  const forward = (rank: number) => stage.forwardPerRank?.[rank] ?? total(rank) / 3;
  const weightGradient = (rank: number) => stage.weightGradientPerRank?.[rank] ?? total(rank) / 3;
  return {
    forward: ofStage(forward),
    weightGradient: ofStage(weightGradient),
    inputGradient: ofStage((rank) => total(rank) - forward(rank) - weightGradient(rank)),
    pairFactor: stage.pairFactor ?? 1,
    sendSeconds: stage.send,
  };
}

/**
 * Makespan by simulation, split into the slowest rank's work, the rest, and what messages add. The rest is negative where
 * another rank shares that work (DualPipe) or pairs are quicker than their parts.
 */
export function simulatedSeconds(orderOf: OrderOf, shape: PipelineShape, stage: StageSeconds): PipelineSeconds {
  const order = orderFor(orderOf, shape);
  const times = stageTimes(order, stage);
  const free = simulate(order, { ...times, sendSeconds: 0 });
  const busy = shape.numMicroBatches * slowestSeconds(stage);
  const delayed = stage.send > 0 ? simulate(order, times).makespan - free.makespan : 0;
  // a blocking exchange stops its rank for every micro-batch and chunk, both ways
  const blocked = stage.isSendHidden || shape.pp === 1 ? 0 : 2 * (shape.numMicroBatches - 1) * 2 * stage.send;
  return { busy, bubble: free.makespan - busy, sends: delayed + blocked };
}
