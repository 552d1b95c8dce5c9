/**
 * The moments of a run at which a rank may hold most: while the model is built, in forward and backward, at the optimizer's
 * update, and while a checkpoint is written. The largest on the device is the peak. Source: MODEL §3.10.
 */
import type { MemoryMomentId } from '../../schema/index.ts';
import { splitOf } from '../split.ts';
import { addGradientStandIns, addMatmulWorkspaces } from './buffers.ts';
import type { MemorySink, StageHolding } from './items.ts';
import { addStates } from './states.ts';
import { addTraining } from './training.ts';

export interface Moment {
  id: MemoryMomentId;
  label: string;
  add: (into: MemorySink, stage: StageHolding) => void;
}

const SOURCE = 'docs/MODEL.md §3.10';

/** Year from which Megatron-LM copies weights into one buffer of its sharded optimizer. */
const PARAMETER_BUFFER_YEAR = 2023;

/**
 * Whether weights are copied into one flat buffer at start-up, both there at once: Megatron-LM's distributed optimizer
 * (distributed/param_and_grad_buffer.py), DeepSpeed's bf16 optimizer (runtime/bf16_optimizer.py).
 */
function copiesWeights({ problem: { framework, workload }, plan }: StageHolding): boolean {
  const { zeroStage } = plan.sharding;
  if (zeroStage === 0 || zeroStage === 3) return false;
  if (framework.family === 'deepspeed') return workload.compute === 'bf16' && workload.weightBytesPerParameter === 2;
  return framework.family === 'megatron-lm' && workload.stackYear >= PARAMETER_BUFFER_YEAR;
}

/** Start-up: weights as they are built, and where a framework lays them out flat, their copy and the gradients' buffer. */
function addLoading(into: MemorySink, stage: StageHolding): void {
  const { problem, plan, held, frozen } = stage;
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g } = problem.workload;
  const split = splitOf(plan);
  const { zeroStage } = plan.sharding;
  const shardsOf = (from: number) => ({
    dense: zeroStage >= from ? split.denseShards : 1,
    experts: zeroStage >= from ? split.expertShards : 1,
  });
  const parameters = ({ dense, experts }: { dense: number; experts: number }, of = held) =>
    of.dense / dense + of.experts / experts;
  const onDevice = 1 - plan.offload.weights;
  const built = parameters(shardsOf(3)) + parameters(shardsOf(3), frozen);
  into.add('weights', w * built * onDevice, `Weights as they are built, ${w} B each`, SOURCE);
  if (problem.framework.family === 'megatron-lm')
    into.add('gradients', g * parameters(shardsOf(2)), `Buffer of the gradients, ${g} B each`, SOURCE);
  if (copiesWeights(stage))
    into.add('workspace', w * parameters(shardsOf(3)) * onDevice, 'Weights copied into one buffer', SOURCE);
}

/** Bytes per parameter on a rank's shard that only the update needs. */
function updateBytes({ problem: { framework, workload }, plan }: StageHolding): { bytes: number; label: string } {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g } = workload;
  // the states on the host are updated there
  const onDevice = 1 - plan.offload.optimizer;
  // PyTorch's grouped (foreach) Adam makes one fp32 tensor more for each it updates (torch.optim.AdamW, foreach)
  if (framework.family === 'fsdp') return { bytes: 4 * onDevice, label: 'Temporaries of the grouped Adam, 4 B each' };
  // Megatron-LM core/optimizer: made by _copy_model_grads_to_main_grads, set to None by the next step's zero_grad
  const { gradientCopyBytesPerParameter: copy } = workload;
  if (copy > 0) return { bytes: copy * onDevice, label: `fp32 copies of the gradients, ${copy} B each` };
  // stage_1_and_2.py: 16-bit gradients of the shard in fp32
  if (framework.family === 'deepspeed' && w === 2 && g === 2)
    return { bytes: 4 * onDevice, label: 'Gradients of the shard in fp32, 4 B each' };
  return { bytes: 0, label: '' };
}

/** The update: weights, gradients and states, which appear at the first step, with all gradients there and no activations. */
function addUpdate(into: MemorySink, stage: StageHolding): void {
  const { plan, held } = stage;
  addStates(into, stage);
  addGradientStandIns(into, stage);
  addMatmulWorkspaces(into, stage);
  const split = splitOf(plan);
  const isSharded = plan.sharding.zeroStage >= 1;
  const onRank = isSharded
    ? held.dense / split.denseShards + held.experts / split.expertShards
    : held.dense + held.experts;
  const { bytes, label } = updateBytes(stage);
  into.add('workspace', bytes * onRank, label, SOURCE);
}

/** Saving: states as they stand between two steps; what a rank writes is staged on its host. */
function addSaving(into: MemorySink, stage: StageHolding): void {
  addStates(into, stage);
  addGradientStandIns(into, stage);
  addMatmulWorkspaces(into, stage);
}

const training: Moment = { id: 'training', label: 'Forward and backward', add: addTraining };
const loading: Moment = { id: 'loading', label: 'Start-up, the model being built', add: addLoading };
const update: Moment = { id: 'update', label: 'Update of the weights, from the first step on', add: addUpdate };
const saving: Moment = { id: 'saving', label: 'A checkpoint being written', add: addSaving };

/** All moments in the order of a run. */
export const moments: readonly Moment[] = [loading, training, update, saving];

/** Those that may hold most on the device: saving holds what the update does, less its temporaries. */
export const peakMoments: readonly Moment[] = [training, loading, update];
