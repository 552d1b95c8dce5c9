/**
 * Rows that leave sizes out: what holds whatever they are. The least that any run of the row needs (states spread over all
 * ranks, or everything recomputed at one sequence per micro-batch) and what a usual run needs; between the two it depends.
 */
import type { PlanInput } from '#shared/schema/index.ts';
import { GB, GIB } from '#shared/units.ts';
import { completePlan, evaluatePlan, problemTotals } from '../../jobs/index.ts';
import type { Prediction, PreparedCase } from './types.ts';

const gib = (bytes: number) => `${(bytes / GIB).toFixed(1)} GiB`;

/** An 80 GB card, for reports that name none: the largest that was common when they were written. */
const USUAL_USABLE_BYTES = 79.1 * GIB;
/** Largest micro-batch that a search tries. */
const LARGEST_MICRO_BATCH = 16;

/** Parameters of the row: counted where its layers are known, else as stated; null where neither is. */
export function parametersOf({ reading, problem }: PreparedCase): number | null {
  return reading.model.model === null ? reading.model.parameters : problemTotals(problem).parameters;
}

/** Bytes per parameter of weights, gradients and optimizer states in the row's framework and precision. */
function bytesPerParameter({ problem }: PreparedCase): number {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, optimizerBytesPerParameter: o } = problem.workload;
  return w + g + o;
}

/** Share of the states that stays on the accelerators. */
function onDevice({ plan, problem }: PreparedCase): number {
  const { weightBytesPerParameter: w, gradientBytesPerParameter: g, optimizerBytesPerParameter: o } = problem.workload;
  return (
    (w * (1 - plan.offload.weights) + g * (1 - plan.offload.optimizer) + o * (1 - plan.offload.optimizer)) / (w + g + o)
  );
}

/** Weights that are not trained, in 16 bits; adapters add little. */
const FROZEN_BYTES = 2;

/** States alone, spread evenly over all ranks: no split can hold less on its fullest rank. */
function leastStates(prepared: PreparedCase): number | null {
  const parameters = parametersOf(prepared);
  const { numAccelerators, row } = prepared.reading;
  if (parameters === null || numAccelerators === null) return null;
  if (row.mode === 'lora') return (FROZEN_BYTES * parameters) / numAccelerators;
  return (parameters * bytesPerParameter(prepared) * onDevice(prepared)) / numAccelerators;
}

/** The row with what it leaves out set, evaluated; null where the model or cluster is not known at all. */
function peakWith({ reading, problem, plan }: PreparedCase, set: PlanInput, microBatchSize: number): number | null {
  if ((reading.model.model === null && reading.model.parameters === null) || reading.numAccelerators === null)
    return null;
  const { known } = reading;
  const mbs = known.has('plan.microBatchSize') ? plan.microBatchSize : microBatchSize;
  const numMicroBatches = problem.workload.globalBatchSize / (plan.dp * plan.microBatchSize);
  const globalBatchSize = known.has('job.globalBatchSize')
    ? problem.workload.globalBatchSize
    : plan.dp * mbs * numMicroBatches;
  const asked = { ...problem, workload: { ...problem.workload, globalBatchSize } };
  const input = { ...plan, ...(known.has('plan.recompute') ? {} : set), microBatchSize: mbs };
  return evaluatePlan(asked, completePlan(asked, input)).estimate?.peakMemoryBytes ?? null;
}

/** Whether the row says how the model is split. */
export function hasSplit({ reading }: PreparedCase): boolean {
  return !reading.missing.includes('the split');
}

/** Every rank loads the whole model before it is sharded: 2 bytes per parameter (DeepSpeed without zero.Init). */
function startUpNote(prepared: PreparedCase): string {
  const parameters = parametersOf(prepared);
  if (prepared.plan.sharding.zeroStage !== 3 || parameters === null) return '';
  return `; a rank that loads the whole model before sharding it needs ${gib(2 * parameters)} at the start`;
}

/** No split is stated: from states spread over all ranks to a whole copy on each. */
function splitRange(prepared: PreparedCase, states: number, usable: number): Prediction {
  const whole = states * (prepared.reading.numAccelerators ?? 1);
  const range = `states need ${gib(states)} (spread over all ranks) to ${gib(whole)} (a copy on each) of ${gib(usable)} usable`;
  const lacks = `the row does not state ${prepared.reading.missing.join(', ')}`;
  return whole <= usable / 2
    ? { predicted: 'fits', reason: `${range}; ${lacks}` }
    : { predicted: 'depends', reason: `${range}: it depends on the split; ${lacks}` };
}

/** Prediction for a row that leaves sizes out. */
export function rangePrediction(prepared: PreparedCase): Prediction {
  const { reading, problem } = prepared;
  const lacks = `the row does not state ${reading.missing.join(', ')}`;
  const usable = reading.accelerator === null ? USUAL_USABLE_BYTES : problem.device.usableMemoryBytes;
  const card = reading.accelerator === null ? 'of an 80 GB card' : 'usable';
  const states = leastStates(prepared);
  if (states !== null && states > usable)
    return {
      predicted: 'oom',
      reason:
        `states alone need ${gib(states)} per rank (${bytesPerParameter(prepared)} B × ${((parametersOf(prepared) ?? 0) / 1e9).toFixed(1)} B parameters ` +
        `÷ ${reading.numAccelerators} ranks) of ${gib(usable)} ${card}${startUpNote(prepared)}; ${lacks}`,
    };
  const least = hasSplit(prepared)
    ? peakWith(prepared, { recompute: { mode: 'full', modules: [], layersPerStage: null } }, 1)
    : null;
  const most = hasSplit(prepared)
    ? peakWith(prepared, { recompute: { mode: 'none', modules: [], layersPerStage: null } }, LARGEST_MICRO_BATCH)
    : null;
  if (reading.accelerator !== null && !hasSplit(prepared) && states !== null)
    return splitRange(prepared, states, usable);
  if (reading.accelerator === null || (least === null && most === null)) {
    if (states === null && reading.accelerator !== null && reading.row.purpose !== 'validity')
      return { predicted: 'depends', reason: `breaks no rule; whether it fits hangs on its model: ${lacks}` };
    const note = states === null ? '' : `; states need at least ${gib(states)} per rank`;
    return { predicted: 'accepted', reason: `breaks no rule; memory is not judged: ${lacks}${note}` };
  }
  if (least !== null && least > usable)
    return {
      predicted: 'oom',
      reason: `needs at least ${gib(least)} of ${gib(usable)} ${card}, even with micro-batch 1 and full recomputation; ${lacks}`,
    };
  if (most !== null && most <= usable)
    return {
      predicted: 'fits',
      reason: `needs ${gib(most)} of ${gib(usable)} ${card} even with micro-batch ${LARGEST_MICRO_BATCH} and no recomputation; ${lacks}`,
    };
  return {
    predicted: 'depends',
    reason: `from ${least === null ? 'an unknown least' : gib(least)} (micro-batch 1, full recomputation) to ${most === null ? 'an unknown most' : gib(most)} (micro-batch ${LARGEST_MICRO_BATCH}, none) of ${gib(usable)} ${card}: ${lacks}`,
  };
}

/** Host bytes per offloaded parameter: fp16 weights 2, fp32 master, moments and gradients 16 (ZeRO-Offload, arXiv 2101.06840 §4). */
const HOST_BYTES_PER_PARAMETER = 18;
/** DeepSpeed's own allowance for pinned buffers (estimate_zero3_model_states_mem_needs, additional_buffer_factor). */
const HOST_BUFFER_FACTOR = 1.5;
/** A full checkpoint in host memory: bf16 weights, fp32 master and two moments (docs/MODEL.md §7). */
const CHECKPOINT_BYTES_PER_PARAMETER = 14;
/** Share of a host that a job can take before the system, loaders and page cache collide with it: chosen; reports place it below 83 % (radixark/Megatron-LM#61). */
const HOST_USABLE_FRACTION = 0.8;

/** Host memory per node that a record states, bytes. */
function hostBytesOf({ row }: PreparedCase['reading']): number | null {
  const entry = Object.entries({ ...row.outcome, ...row }).find(
    ([key, value]) => /host.*gb/i.test(key) && !/need|used|measured/i.test(key) && typeof value === 'number',
  );
  return entry === undefined ? null : Number(entry[1]) * (/gib/i.test(entry[0]) ? GIB : GB);
}

/** Out of host memory by what is offloaded or by a checkpoint held there; null where the record names no host or it fits. */
export function hostPrediction(prepared: PreparedCase): Prediction | null {
  const { reading, plan } = prepared;
  const host = hostBytesOf(reading);
  const parameters = parametersOf(prepared);
  if (host === null || parameters === null || reading.numAccelerators === null) return null;
  const perNode = reading.hardware?.gpus_per_node ?? prepared.problem.network.acceleratorsPerNode;
  const nodes = Math.ceil(reading.numAccelerators / perNode);
  const isOffload = plan.offload.optimizer > 0 || plan.offload.weights > 0;
  const isCheckpoint = reading.row.purpose === 'checkpoint';
  if (!isOffload && !isCheckpoint) return null;
  const perParameter = isOffload ? HOST_BYTES_PER_PARAMETER * HOST_BUFFER_FACTOR : CHECKPOINT_BYTES_PER_PARAMETER;
  const need = (perParameter * parameters) / nodes;
  const limit = host * HOST_USABLE_FRACTION;
  const what = isOffload ? 'offloaded states with their pinned buffers' : 'a checkpoint held in host memory at once';
  const reason =
    `${what}: ${perParameter} B × ${(parameters / 1e9).toFixed(1)} B parameters ÷ ${nodes} nodes = ${(need / GB).toFixed(0)} GB ` +
    `per node of ${(host / GB).toFixed(0)} GB (${(HOST_USABLE_FRACTION * 100).toFixed(0)} % usable)`;
  return need > limit ? { predicted: 'host_oom', reason } : null;
}
