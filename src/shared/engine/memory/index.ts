/**
 * Bytes that one accelerator of each pipeline stage holds at its peak, by category.
 *
 * Legend: s = seqLen, b = microBatchSize, h = hiddenSize, f = ffnHiddenSize, a/k = heads/KV heads, dh = headDim,
 * V = padded vocabulary, t = tp, d = dp. Activations are 2-byte.
 * Source: MODEL §3 (Korthikanti et al. 2022 eqs. 1–6; tensor lists in MODEL §3.4–3.5), in-flight counts §3.6.
 */
import type { Plan, StageMemory } from '../../schema/index.ts';
import { scheduleOf, type PipelineShape, type Schedule } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { distinctRanks, type RankContent } from '../stages.ts';
import { deviceItems, fragmentationFraction, processBytes } from './buffers.ts';
import { holdingOf, residentRanks, shapeOf } from './holding.ts';
import { MemoryList, MemorySum, type MemoryItem, type StageHolding } from './items.ts';
import { peakMoments } from './moments.ts';

export { layerActivationBytes, tensorContext, type LayerActivationBytes } from './activations.ts';
export { reclaimableBytes } from './buffers.ts';
export { hostBytesPerNode, hostHolds } from './host.ts';
export type { MemoryItem } from './items.ts';
export { memoryMoments } from './moment-list.ts';

/** Every item of memory on one accelerator of stage `stageIndex` (0-based) at its peak. The plan must be valid. */
export function stageMemoryItems(problem: Problem, plan: Plan, stageIndex: number): MemoryItem[] {
  const rank = residentRanks(problem, plan)[stageIndex];
  if (rank === undefined) throw new Error(`a plan of ${plan.pp} stages has no stage ${stageIndex}`);
  const inFlight = scheduleOf(plan).inFlight(shapeOf(problem, plan), stageIndex);
  const stage = holdingOf(problem, plan, rank);
  const sums = momentSums(stage);
  const worst = sums.indexOf(worstOf(sums, inFlight));
  const list = new MemoryList(inFlight);
  peakMoments[worst]?.add(list, stage);
  const allocated = list.items.reduce((sum, { bytes }) => sum + bytes, 0);
  return [...list.items, ...deviceItems(problem, plan, allocated)];
}

/** What a stage of this content has allocated at each moment that may be its worst. */
function momentSums(stage: StageHolding): MemorySum[] {
  return peakMoments.map(({ add }) => {
    const sum = new MemorySum();
    add(sum, stage);
    return sum;
  });
}

/** The moment that holds most with so many micro-batches in flight; the first of equal ones. Throws on an empty list. */
function worstOf(sums: readonly MemorySum[], inFlight: number): MemorySum {
  let worst: MemorySum | null = null;
  let most = Number.NEGATIVE_INFINITY;
  for (const sum of sums) {
    const bytes = sum.totalBytes(inFlight);
    if (bytes > most) [worst, most] = [sum, bytes];
  }
  if (worst === null) throw new Error('a stage with no moment of finite bytes');
  return worst;
}

/** Memory of the stages of a plan: sums of each distinct content, and what lies in flight on each stage. */
class PlanMemory {
  readonly #stages: readonly RankContent[];
  readonly #sums: readonly (readonly MemorySum[])[];
  readonly #contentOf: readonly number[];
  readonly #share: number;
  readonly #process: number;
  readonly #schedule: Schedule;
  readonly #shape: PipelineShape;

  constructor(problem: Problem, plan: Plan) {
    this.#stages = residentRanks(problem, plan);
    const { contents, contentOf } = distinctRanks(this.#stages);
    this.#contentOf = contentOf;
    this.#sums = contents.map((rank) => momentSums(holdingOf(problem, plan, rank)));
    this.#share = 1 + fragmentationFraction(plan);
    this.#process = processBytes(problem);
    this.#schedule = scheduleOf(plan);
    this.#shape = shapeOf(problem, plan);
  }

  get numStages(): number {
    return this.#stages.length;
  }

  inFlight(stageIndex: number): number {
    return this.#schedule.inFlight(this.#shape, stageIndex);
  }

  #sumOf(stageIndex: number, inFlight: number): MemorySum {
    const sums = this.#sums[this.#contentOf[stageIndex] ?? -1];
    if (sums === undefined) throw new Error(`a plan of ${this.numStages} stages has no stage ${stageIndex}`);
    return worstOf(sums, inFlight);
  }

  totalBytes(stageIndex: number): number {
    const inFlight = this.inFlight(stageIndex);
    return this.#sumOf(stageIndex, inFlight).totalBytes(inFlight) * this.#share + this.#process;
  }

  stage(stageIndex: number): StageMemory {
    const inFlight = this.inFlight(stageIndex);
    const sum = this.#sumOf(stageIndex, inFlight);
    const { fixed, perMicroBatch } = sum;
    const allocated = sum.totalBytes(inFlight);
    const beside = allocated * (this.#share - 1) + this.#process;
    return {
      stageIndex,
      weights: fixed.weights + inFlight * perMicroBatch.weights,
      gradients: fixed.gradients + inFlight * perMicroBatch.gradients,
      optimizer: fixed.optimizer + inFlight * perMicroBatch.optimizer,
      activations: fixed.activations + inFlight * perMicroBatch.activations,
      workspace: fixed.workspace + inFlight * perMicroBatch.workspace + beside,
      totalBytes: allocated + beside,
    };
  }

  /** Index of the stage that holds most; the first of equal ones. */
  fullest(): number {
    let fullest = 0;
    let most = -1;
    for (let stage = 0; stage < this.numStages; stage += 1) {
      const bytes = this.totalBytes(stage);
      if (bytes > most) [fullest, most] = [stage, bytes];
    }
    return fullest;
  }
}

/** Bytes by category on one accelerator of every stage. */
export function memoryByStage(problem: Problem, plan: Plan): StageMemory[] {
  const memory = new PlanMemory(problem, plan);
  const stages: StageMemory[] = [];
  for (let stage = 0; stage < memory.numStages; stage += 1) stages.push(memory.stage(stage));
  return stages;
}

/** Bytes by category on one accelerator of a stage. */
export function stageMemory(problem: Problem, plan: Plan, stageIndex: number): StageMemory {
  return new PlanMemory(problem, plan).stage(stageIndex);
}

/** The stage that holds most. */
export function fullestStage(problem: Problem, plan: Plan): StageMemory {
  const memory = new PlanMemory(problem, plan);
  return memory.stage(memory.fullest());
}
