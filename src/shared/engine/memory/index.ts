/**
 * Bytes that one accelerator of each pipeline stage holds at its peak, by category.
 *
 * Legend: s = seqLen, b = microBatchSize, h = hiddenSize, f = ffnHiddenSize, a/k = heads/KV heads, dh = headDim,
 * V = padded vocabulary, t = tp, d = dp. Activations are 2-byte.
 * Source: MODEL §3 (Korthikanti et al. 2022 eqs. 1–6; tensor lists in MODEL §3.4–3.5), in-flight counts §3.6.
 */
import type { Plan, StageMemory } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { pipelineShape, scheduleOf, type PipelineShape, type Schedule } from '../pipeline/schedules/index.ts';
import { distinctRanks, residentRanksOf, type RankContent } from '../stages.ts';
import { kindActivations } from './activations.ts';
import {
  addContextBuffers,
  addDeepSpeedItems,
  addExpertBuffers,
  addGradientStandIns,
  addMatmulWorkspaces,
  addPipelineBuffers,
  addStageOutputs,
  deviceItems,
  fragmentationFraction,
  processBytes,
} from './buffers.ts';
import { addEnds, addLoss } from './ends.ts';
import { MemoryList, MemorySum, type MemoryItem, type MemorySink, type StageHolding } from './items.ts';
import { addAllStates } from './states.ts';
import { stackOf } from '../../layer-stack.ts';
import { rankParameters } from '../workload/parameters.ts';

export { layerActivationBytes, type LayerActivationBytes } from './activations.ts';
export { reclaimableBytes } from './buffers.ts';
export { hostBytesPerNode, hostHolds } from './host.ts';
export type { MemoryItem } from './items.ts';

/** Activations of the layers of one rank, by kind. Returns the most that recomputing one of them needs, bytes. */
function addLayers(into: MemorySink, { problem, plan, rank }: StageHolding): number {
  const { kinds, names } = stackOf(problem.model);
  const onDevice = 1 - plan.offload.activations;
  let most = 0;
  for (const { kind, count, kept, working } of kindActivations(problem, plan, rank)) {
    const label = (inFlight: number) =>
      `${count} ${kinds.length === 1 ? 'layers' : `layers (${names[kind] ?? ''})`} × ${inFlight} micro-batches in flight`;
    const { label: schedule } = scheduleOf(plan);
    const source = `tensors of Korthikanti et al. 2022 §4.1; in flight by ${schedule} (docs/MODEL.md §3.4, §3.6)`;
    into.addPerMicroBatch('activations', kept * onDevice, label, source);
    most = Math.max(most, working);
  }
  return most;
}

/** Weights of earlier updates that micro-batches in flight still work with. */
function addWeightVersions(into: MemorySink, { problem: { workload }, plan, held }: StageHolding): void {
  const versions = scheduleOf(plan).weightVersions - 1;
  if (versions === 0) return;
  const bytes = versions * workload.weightBytesPerParameter * (held.dense + held.experts);
  into.add('weights', bytes, 'Earlier version of the weights', 'docs/MODEL.md §6');
}

/**
 * The worst moment of backward in one layer: its activations computed again, the sequence gathered for its matmuls, and the
 * gradients of its largest tensor beside that of its input.
 */
function addLayerWork(into: MemorySink, { problem, plan }: StageHolding, working: number): void {
  const { model, workload } = problem;
  into.add('workspace', working, 'One layer being recomputed', 'docs/MODEL.md §3.3');
  if (plan.tp === 1 || !plan.sequenceParallel) return;
  const boundary = 2 * (workload.seqLen / plan.cp) * plan.microBatchSize * model.hiddenSize;
  const source = 'Korthikanti et al. 2022 §4.2.2 (docs/MODEL.md §3.7)';
  into.add('workspace', 2 * boundary, 'Gathered sequence of one layer', source);
}

/** Everything that a stage of this content has allocated at its peak. */
function addAllocated(into: MemorySink, stage: StageHolding): void {
  addAllStates(into, stage);
  addWeightVersions(into, stage);
  const working = addLayers(into, stage);
  addEnds(into, stage);
  // the loss is computed before the first layer's backward: the larger of the two moments is the peak
  const [loss, work] = [new MemorySum(), new MemorySum()];
  addLoss(loss, stage);
  addLayerWork(work, stage, working);
  if (work.totalFixed > loss.totalFixed) addLayerWork(into, stage, working);
  else addLoss(into, stage);
  addExpertBuffers(into, stage);
  addContextBuffers(into, stage);
  addPipelineBuffers(into, stage);
  addStageOutputs(into, stage);
  addDeepSpeedItems(into, stage);
  addGradientStandIns(into, stage);
  addMatmulWorkspaces(into, stage);
}

function holdingOf(problem: Problem, plan: Plan, rank: RankContent): StageHolding {
  return { problem, plan, rank, held: rankParameters(problem.model, plan, rank) };
}

const shapeOf = ({ workload }: Problem, plan: Plan): PipelineShape =>
  pipelineShape(plan, workload.globalBatchSize / (plan.dp * plan.microBatchSize));

function residentRanks(problem: Problem, plan: Plan): RankContent[] {
  const ranks = residentRanksOf(problem.model, plan);
  if (ranks === null) throw new Error(`memory of an invalid layout: ${JSON.stringify(plan.layout)}`);
  return ranks;
}

/** Every item of memory on one accelerator of stage `stageIndex` (0-based) at its peak. The plan must be valid. */
export function stageMemoryItems(problem: Problem, plan: Plan, stageIndex: number): MemoryItem[] {
  const rank = residentRanks(problem, plan)[stageIndex];
  if (rank === undefined) throw new Error(`a plan of ${plan.pp} stages has no stage ${stageIndex}`);
  const list = new MemoryList(scheduleOf(plan).inFlight(shapeOf(problem, plan), stageIndex));
  addAllocated(list, holdingOf(problem, plan, rank));
  const allocated = list.items.reduce((sum, { bytes }) => sum + bytes, 0);
  return [...list.items, ...deviceItems(problem, plan, allocated)];
}

/** Memory of the stages of a plan: sums of each distinct content, and what lies in flight on each stage. */
class PlanMemory {
  readonly #stages: readonly RankContent[];
  readonly #sums: readonly MemorySum[];
  readonly #contentOf: readonly number[];
  readonly #share: number;
  readonly #process: number;
  readonly #schedule: Schedule;
  readonly #shape: PipelineShape;

  constructor(problem: Problem, plan: Plan) {
    this.#stages = residentRanks(problem, plan);
    const { contents, contentOf } = distinctRanks(this.#stages);
    this.#contentOf = contentOf;
    this.#sums = contents.map((rank) => {
      const sum = new MemorySum();
      addAllocated(sum, holdingOf(problem, plan, rank));
      return sum;
    });
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

  #sumOf(stageIndex: number): MemorySum {
    const sum = this.#sums[this.#contentOf[stageIndex] ?? -1];
    if (sum === undefined) throw new Error(`a plan of ${this.numStages} stages has no stage ${stageIndex}`);
    return sum;
  }

  totalBytes(stageIndex: number): number {
    return this.#sumOf(stageIndex).totalBytes(this.inFlight(stageIndex)) * this.#share + this.#process;
  }

  stage(stageIndex: number): StageMemory {
    const sum = this.#sumOf(stageIndex);
    const inFlight = this.inFlight(stageIndex);
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
  return Array.from({ length: memory.numStages }, (_, stage) => memory.stage(stage));
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
