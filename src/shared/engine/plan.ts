/** Plans: completing a partial one with the framework's defaults, naming it, comparing it. */
import type { Plan, PlanInput } from '../schema/index.ts';
import type { Problem } from './problem.ts';
import { frameworkDefaults, MODERN_STACK_YEAR } from './framework-defaults.ts';
import { isPlannedSchedule, schedules } from './pipeline/schedules/index.ts';

type Recompute = Plan['recompute'];

/** Year from which stacks run flash attention of the third generation or cuDNN's (FlashAttention-3, July 2024). */
const FLASH_3_YEAR = 2024;

/** Selective recomputation that names no module means core attention; the other modes have no modules. */
function completeRecompute({ mode = 'none', modules = [], layersPerStage = null }: Partial<Recompute> = {}): Recompute {
  if (mode !== 'selective') return { mode, modules: [], layersPerStage };
  return { mode, modules: modules.length === 0 ? ['core-attention'] : modules, layersPerStage };
}

/** Chunks per rank where a plan names none: two for schedules that run down and up again, else one. */
function defaultChunks(name: string | undefined): number {
  return name !== undefined && isPlannedSchedule(name) && schedules[name].needs.chunks === 'two' ? 2 : 1;
}

/**
 * Most tokens of an expert-parallel rank over the mean. Balanced routing (auxiliary loss or bias) keeps it near 1; 1.1 is
 * what load-balanced training reports as usual. Source: DeepSeek-V3 (arXiv 2412.19437 §2.1.2), MODEL §3.4; estimate.
 */
const EXPERT_IMBALANCE = 1.1;

function completeRuntime(input: PlanInput['runtime'], stackYear: number, fusedCrossEntropy: boolean): Plan['runtime'] {
  const flash = stackYear < FLASH_3_YEAR ? 'flash-2' : 'flash';
  return {
    fusedCrossEntropy,
    cudaGraphs: 'none',
    expertDispatcher: 'alltoall',
    expertCapacity: 'dropless',
    expertImbalance: input?.expertCapacity === 'padded' ? 1 : EXPERT_IMBALANCE,
    expandableSegments: false,
    fusedKernels: true,
    scatterGather: true,
    attentionKernel: stackYear < MODERN_STACK_YEAR ? 'unfused' : flash,
    ...input,
  };
}

/**
 * The full plan from a partial one. What is absent takes the default of the scenario's framework and its year; dp is
 * what the other degrees leave of the cluster (rounded down where they do not divide: a rule then names the fault).
 */
export function completePlan(problem: Problem, input: PlanInput): Plan {
  const { stackYear } = problem.workload;
  const isModern = stackYear >= MODERN_STACK_YEAR;
  const tp = input.tp ?? 1;
  const pp = input.pp ?? 1;
  const cp = input.cp ?? 1;
  const vpp = input.vpp ?? defaultChunks(input.schedule?.name);
  const family = frameworkDefaults(problem, { tp, pp, vpp });
  const dp = input.dp ?? Math.max(1, Math.floor(problem.network.numAccelerators / (tp * pp * cp)));
  return {
    tp,
    pp,
    cp,
    ep: input.ep ?? 1,
    etp: input.etp ?? family.etp,
    dp,
    vpp,
    microBatchSize: input.microBatchSize ?? 1,
    sequenceParallel: input.sequenceParallel ?? family.sequenceParallel,
    schedule: { name: vpp > 1 ? 'interleaved-1f1b' : '1f1b', groupSize: null, ...input.schedule },
    recompute: completeRecompute(input.recompute),
    sharding: {
      zeroStage: family.zeroStage,
      group: cp > 1 ? 'dp-cp' : 'dp',
      reshardAfterForward: family.reshardAfterForward,
      ...input.sharding,
    },
    cpMethod: input.cpMethod ?? 'ring',
    overlap: {
      tp: false,
      gradReduce: isModern,
      paramGather: isModern,
      pipeline: isModern,
      expert: false,
      ...input.overlap,
    },
    offload: { optimizer: 0, weights: 0, activations: 0, ...input.offload },
    layout: input.layout ?? family.layout,
    rankOrder: input.rankOrder ?? 'tp-cp-ep-dp-pp',
    runtime: completeRuntime(input.runtime, stackYear, family.fusedCrossEntropy),
  };
}

const lossName = (fused: Plan['runtime']['fusedCrossEntropy']): string =>
  typeof fused === 'string' ? `${fused}-loss` : 'unfused-loss';

/** What a plan sets apart from the usual, in few letters; empty for nearly every plan. */
function unusualParts(plan: Plan): string[] {
  const { recompute, sharding, offload, runtime, schedule } = plan;
  const parts: string[] = [];
  if (plan.cp > 1) parts.push(`cp${plan.cp}`);
  if (plan.cpMethod !== 'ring') parts.push(plan.cpMethod);
  if (plan.ep > 1) parts.push(`ep${plan.ep}`);
  if (plan.etp > 1) parts.push(`etp${plan.etp}`);
  if (schedule.groupSize !== null) parts.push(`group${schedule.groupSize}`);
  const modules = recompute.modules.join('+');
  if (modules !== (recompute.mode === 'selective' ? 'core-attention' : ''))
    parts.push(modules === '' ? 'no-modules' : modules);
  if (recompute.layersPerStage !== null) parts.push(`layers${recompute.layersPerStage}`);
  if (sharding.group !== 'dp')
    parts.push(typeof sharding.group === 'string' ? sharding.group : `shard${sharding.group.size}`);
  if (!sharding.reshardAfterForward) parts.push('keep');
  if (plan.overlap.expert) parts.push('oep');
  if (offload.optimizer > 0) parts.push(`off-optimizer${offload.optimizer}`);
  if (offload.weights > 0) parts.push(`off-weights${offload.weights}`);
  if (offload.activations > 0) parts.push(`off-activations${offload.activations}`);
  if (plan.rankOrder !== 'tp-cp-ep-dp-pp') parts.push(plan.rankOrder);
  if (runtime.fusedCrossEntropy !== true) parts.push(lossName(runtime.fusedCrossEntropy));
  if (runtime.cudaGraphs !== 'none') parts.push(`graphs-${runtime.cudaGraphs}`);
  if (runtime.expertDispatcher !== 'alltoall') parts.push(runtime.expertDispatcher);
  if (runtime.expandableSegments) parts.push('segments');
  const usualImbalance = runtime.expertCapacity === 'padded' ? 1 : EXPERT_IMBALANCE;
  if (!runtime.fusedKernels) parts.push('unfused-kernels');
  if (runtime.expertCapacity !== 'dropless') parts.push('padded');
  if (runtime.expertImbalance !== usualImbalance) parts.push(`imbalance${runtime.expertImbalance}`);
  if (!runtime.scatterGather) parts.push('whole-sends');
  return parts;
}

/** Canonical text of a plan: equal plans have equal keys, and different plans different ones. Also the tie-break that makes results independent of timing. */
export function planKey(plan: Plan): string {
  const { recompute, sharding, overlap, layout } = plan;
  let key = `tp${plan.tp}.pp${plan.pp}.dp${plan.dp}.vpp${plan.vpp}.mbs${plan.microBatchSize}.${plan.schedule.name}`;
  if (layout !== null) key += `.${typeof layout === 'string' ? layout : JSON.stringify(layout)}`;
  key += `.re-${recompute.mode}.z${sharding.zeroStage}.${plan.runtime.attentionKernel}`;
  if (plan.sequenceParallel) key += '.sp';
  if (overlap.tp) key += '.otp';
  if (overlap.gradReduce) key += '.ogr';
  if (overlap.paramGather) key += '.opg';
  if (overlap.pipeline) key += '.opp';
  for (const part of unusualParts(plan)) key += `.${part}`;
  return key;
}

/** The split in words: "TP 8 · PP 64 · DP 6, 1F1B, micro-batch 1, full recomputation". */
export function describePlan(plan: Plan): string {
  const schedule = plan.schedule.name;
  const label = isPlannedSchedule(schedule) ? schedules[schedule].label : schedule;
  const named = { CP: plan.cp, EP: plan.ep, ETP: plan.etp };
  const degrees = Object.entries(named)
    .filter(([, degree]) => degree > 1)
    .map(([name, degree]) => `${name} ${degree} · `)
    .join('');
  const recompute = { none: 'no recomputation', selective: 'selective recomputation', full: 'full recomputation' };
  return (
    `TP ${plan.tp} · PP ${plan.pp} · ${degrees}DP ${plan.dp}, ` +
    `${label}${plan.vpp > 1 ? ` ${plan.vpp}` : ''}, micro-batch ${plan.microBatchSize}, ${recompute[plan.recompute.mode]}`
  );
}

/** The value at a dotted path of a plan. */
export function valueAt(plan: object, path: string): unknown {
  let value: unknown = plan;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
