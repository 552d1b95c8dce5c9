/**
 * Runs a schedule's order of work under its dependencies: an operation starts when the rank is free, the same
 * micro-batch has left the stage before (forward) or after (backward), and its message has arrived.
 *
 * Exact for compute that is never slowed by messages: sends run beside compute and only delay who waits for them.
 * Source: MODEL §6, whose closed forms it reproduces.
 */
import { OPERATIONS, type PipelineOrder, type RankOrder } from './order.ts';

/** Seconds per micro-batch of each stage. */
export interface StageTimes {
  readonly forward: ArrayLike<number>;
  /** Gradients of a stage's input. */
  readonly inputGradient: ArrayLike<number>;
  /** Gradients of its weights. A whole backward is both. */
  readonly weightGradient: ArrayLike<number>;
  /** Time of an interwoven forward and backward ÷ the sum of both; 1 gains nothing. */
  readonly pairFactor: number;
  /** From the end of an operation to the arrival of its message on another rank. */
  readonly sendSeconds: number;
}

export interface SimulatedPipeline {
  /** End of the last operation; the first starts at 0. */
  readonly makespan: number;
  /** Longest time from the first operation of a rank to the end of its last (Qi et al. 2023, zero bubble: cost). */
  readonly cost: number;
  /** Work of each rank. */
  readonly busy: Float64Array;
  /** Makespan less the work of each rank. */
  readonly idle: Float64Array;
  /** Start and end of every operation of each rank. */
  readonly starts: readonly Float64Array[];
  readonly ends: readonly Float64Array[];
}

const at = (values: ArrayLike<number>, index: number): number => values[index] ?? NaN;

/** Ends of one pass of every stage and micro-batch, NaN until done, and the rank that waits for each, or −1. */
interface Ends {
  readonly at: Float64Array;
  readonly waiters: Int32Array;
}

const noEnds = (cells: number): Ends => {
  return { at: new Float64Array(cells).fill(NaN), waiters: new Int32Array(cells).fill(-1) };
};

/** What a run needs to know of itself while it advances. */
interface Run {
  readonly order: PipelineOrder;
  readonly times: StageTimes;
  readonly forwards: Ends;
  /** Of input gradients, which is what the stage before waits for. */
  readonly backwards: Ends;
  readonly next: Int32Array;
  readonly clock: Float64Array;
  readonly busy: Float64Array;
  readonly starts: Float64Array[];
  readonly ends: Float64Array[];
  readonly runnable: number[];
}

function start(order: PipelineOrder, times: StageTimes): Run {
  const cells = order.numStages * order.microBatchesPerPath;
  const numRanks = order.ranks.length;
  return {
    order,
    times,
    forwards: noEnds(cells),
    backwards: noEnds(cells),
    next: new Int32Array(numRanks),
    clock: new Float64Array(numRanks),
    busy: new Float64Array(numRanks),
    starts: order.ranks.map(({ kinds }) => new Float64Array(kinds.length)),
    ends: order.ranks.map(({ kinds }) => new Float64Array(kinds.length)),
    runnable: order.ranks.map((_, rank) => numRanks - 1 - rank),
  };
}

/** When a pass has ended; NaN if it has not, after noting who waits. */
function endOf(ends: Ends, cell: number, rank: number): number {
  const end = at(ends.at, cell);
  if (Number.isNaN(end)) ends.waiters[cell] = rank;
  return end;
}

/** When the forward's input is there; NaN if not yet. */
function forwardReady(run: Run, rank: number, stage: number, microBatch: number): number {
  const { order, times } = run;
  if (stage % order.stagesPerPath === 0) return 0;
  const end = endOf(run.forwards, (stage - 1) * order.microBatchesPerPath + microBatch, rank);
  return order.rankOfStage[stage - 1] === rank ? end : end + times.sendSeconds;
}

/** When the backward's input is there: its own forward on the last stage, else the next stage's gradient. */
function backwardReady(run: Run, rank: number, stage: number, microBatch: number): number {
  const { order, times } = run;
  const own = stage * order.microBatchesPerPath + microBatch;
  if ((stage + 1) % order.stagesPerPath === 0) return endOf(run.forwards, own, rank);
  const end = endOf(run.backwards, own + order.microBatchesPerPath, rank);
  return order.rankOfStage[stage + 1] === rank ? end : end + times.sendSeconds;
}

/** When operation `index` of a rank may start by its inputs; NaN where one is missing. */
function readyAt(run: Run, rank: number, list: RankOrder, index: number): number {
  const kind = list.kinds[index];
  const stage = at(list.stages, index);
  const microBatch = at(list.microBatches, index);
  if (kind === OPERATIONS.weightGradient)
    return at(run.backwards.at, stage * run.order.microBatchesPerPath + microBatch);
  if (kind === OPERATIONS.forward) return forwardReady(run, rank, stage, microBatch);
  if (kind !== OPERATIONS.pair) return backwardReady(run, rank, stage, microBatch);
  const backward = backwardReady(run, rank, at(list.pairStages, index), at(list.pairMicroBatches, index));
  return Math.max(forwardReady(run, rank, stage, microBatch), backward); // NaN if either is
}

function secondsOf({ times }: Run, { kinds, stages, pairStages }: RankOrder, index: number): number {
  const stage = at(stages, index);
  const { forward, inputGradient, weightGradient } = times;
  switch (kinds[index]) {
    case OPERATIONS.forward:
      return at(forward, stage);
    case OPERATIONS.backward:
      return at(inputGradient, stage) + at(weightGradient, stage);
    case OPERATIONS.inputGradient:
      return at(inputGradient, stage);
    case OPERATIONS.weightGradient:
      return at(weightGradient, stage);
    default: {
      const back = at(pairStages, index);
      return times.pairFactor * (at(forward, stage) + at(inputGradient, back) + at(weightGradient, back));
    }
  }
}

function finish(run: Run, ends: Ends, cell: number, end: number): void {
  ends.at[cell] = end;
  const waiter = at(ends.waiters, cell);
  if (waiter >= 0) run.runnable.push(waiter);
}

/** Records what operation `index` has brought forth, and wakes who waited for it. */
function complete(run: Run, list: RankOrder, index: number, end: number): void {
  const width = run.order.microBatchesPerPath;
  const kind = list.kinds[index];
  const cell = at(list.stages, index) * width + at(list.microBatches, index);
  if (kind === OPERATIONS.forward || kind === OPERATIONS.pair) finish(run, run.forwards, cell, end);
  if (kind === OPERATIONS.backward || kind === OPERATIONS.inputGradient) finish(run, run.backwards, cell, end);
  if (kind !== OPERATIONS.pair) return;
  finish(run, run.backwards, at(list.pairStages, index) * width + at(list.pairMicroBatches, index), end);
}

/** Runs a rank until it waits or is done. */
function advance(run: Run, rank: number): void {
  const list = run.order.ranks[rank];
  const starts = run.starts[rank];
  const ends = run.ends[rank];
  if (list === undefined || starts === undefined || ends === undefined) throw new Error(`no rank ${rank}`);
  let index = at(run.next, rank);
  let clock = at(run.clock, rank);
  let worked = 0;
  for (; index < list.kinds.length; index++) {
    const ready = readyAt(run, rank, list, index);
    if (Number.isNaN(ready)) break;
    const seconds = secondsOf(run, list, index);
    const begin = Math.max(clock, ready);
    clock = begin + seconds;
    worked += seconds;
    starts[index] = begin;
    ends[index] = clock;
    complete(run, list, index, clock);
  }
  run.next[rank] = index;
  run.clock[rank] = clock;
  run.busy[rank] = at(run.busy, rank) + worked;
}

/**
 * Simulates one step of a pipeline. Throws where the order can never be carried out (a rank waits for itself or ranks
 * wait for each other), which is a fault of the schedule.
 */
export function simulate(order: PipelineOrder, times: StageTimes): SimulatedPipeline {
  const run = start(order, times);
  for (let rank = run.runnable.pop(); rank !== undefined; rank = run.runnable.pop()) advance(run, rank);
  let makespan = 0;
  let cost = 0;
  order.ranks.forEach(({ kinds }, rank) => {
    if (at(run.next, rank) < kinds.length)
      throw new Error(`deadlock: rank ${rank} waits in operation ${at(run.next, rank)}`);
    if (kinds.length === 0) return;
    makespan = Math.max(makespan, at(run.clock, rank));
    cost = Math.max(cost, at(run.clock, rank) - at(run.starts[rank] ?? [], 0));
  });
  const idle = run.busy.map((busy) => makespan - busy);
  return { makespan, cost, busy: run.busy, idle, starts: run.starts, ends: run.ends };
}

/**
 * Most activations that each rank holds at once, in units of one stage's activations of one micro-batch. A forward adds
 * one; a backward frees it; an input gradient frees all but `weightGradientShare`, which its weight gradient frees.
 */
export function peakActivations(order: PipelineOrder, weightGradientShare: number): Float64Array {
  const { forward, backward, inputGradient, weightGradient } = OPERATIONS;
  return Float64Array.from(order.ranks, ({ kinds }) => {
    let held = 0;
    let peak = 0;
    for (const kind of kinds) {
      if (kind === forward) held += 1;
      else if (kind === backward) held -= 1;
      else if (kind === inputGradient) held -= 1 - weightGradientShare;
      else if (kind === weightGradient) held -= weightGradientShare;
      // a pair needs room for both while it runs, and leaves as many as it found
      peak = Math.max(peak, held + (kind > weightGradient ? 1 : 0));
    }
    return peak;
  });
}
