/**
 * What a rank holds at the worst moment of forward and backward: states, kept activations, and the larger of the loss's and
 * one layer's work, with the buffers beside them. Source: MODEL §3.2–3.7.
 */
import { stackOf } from '../../layer-stack.ts';
import { scheduleOf } from '../pipeline/schedules/index.ts';
import { kindActivations } from './activations.ts';
import {
  addContextBuffers,
  addDeepSpeedItems,
  addExpertBuffers,
  addGradientStandIns,
  addMatmulWorkspaces,
  addPipelineBuffers,
  addStageOutputs,
} from './buffers.ts';
import { addEnds, addLoss } from './ends.ts';
import { MemoryTotal, type MemorySink, type StageHolding } from './items.ts';
import { addGatheredStates, addStates } from './states.ts';

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

/** Everything that a stage of this content has allocated at the worst moment of forward and backward. */
export function addTraining(into: MemorySink, stage: StageHolding): void {
  addStates(into, stage);
  addGatheredStates(into, stage);
  addWeightVersions(into, stage);
  const working = addLayers(into, stage);
  addEnds(into, stage);
  // the loss is computed before the first layer's backward: the larger of the two moments is the peak
  const [loss, work] = [new MemoryTotal(), new MemoryTotal()];
  addLoss(loss, stage);
  addLayerWork(work, stage, working);
  if (work.bytes > loss.bytes) addLayerWork(into, stage, working);
  else addLoss(into, stage);
  addExpertBuffers(into, stage);
  addContextBuffers(into, stage);
  addPipelineBuffers(into, stage);
  addStageOutputs(into, stage);
  addDeepSpeedItems(into, stage);
  addGradientStandIns(into, stage);
  addMatmulWorkspaces(into, stage);
}
