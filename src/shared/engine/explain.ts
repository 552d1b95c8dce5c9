/**
 * Where a step's time and a device's memory go: trees whose children sum to their parent, the waterfall from the ideal
 * to the step time, and the table of communications.
 */
import type { Communication, MemoryPart, Plan, TimePart, WaterfallStep } from '../schema/index.ts';
import { stageMemoryItems } from './memory.ts';
import { placementOf } from './network/index.ts';
import { schedules, type PlannedSchedule } from './pipeline/schedules/index.ts';
import type { Problem } from './problem.ts';
import type { StepCost } from './step.ts';
import { stepFlops } from './summary.ts';
import type { LayerCost, OperatorKind } from './workload/operators.ts';

function timeLeaf(label: string, seconds: number, source: string): TimePart {
  return { label, seconds, source, children: [] };
}

/** A parent that is exactly the sum of its children; parts of no time are left out. */
function timeSum(label: string, source: string, parts: TimePart[]): TimePart {
  const children = parts.filter((part) => part.seconds !== 0);
  return { label, seconds: children.reduce((sum, part) => sum + part.seconds, 0), source, children };
}

type Pass = 'forwardSeconds' | 'backwardSeconds';

function operatorParts(cost: LayerCost, pass: Pass, times: number): TimePart[] {
  return cost.operators.map((operator) => timeLeaf(operator.label, operator[pass] * times, operator.source));
}

function stageWork(plan: Plan, cost: StepCost): TimePart {
  const layers = cost.numMicroBatches * cost.layersPerStage;
  const isFirst = cost.slowestStage === 'only' || cost.slowestStage === 'first';
  const isLast = cost.slowestStage === 'only' || cost.slowestStage === 'last';
  const counted = `${cost.numMicroBatches} micro-batches × ${cost.layersPerStage} layers`;
  const recomputed =
    plan.recompute.mode === 'full'
      ? cost.layer.operators
      : plan.recompute.mode === 'selective'
        ? cost.layer.operators.filter((operator) => operator.isCoreAttention)
        : [];
  const ends = (end: LayerCost) => [
    ...operatorParts(end, 'forwardSeconds', cost.numMicroBatches).map((p) => ({ ...p, label: `${p.label}, forward` })),
    ...operatorParts(end, 'backwardSeconds', cost.numMicroBatches).map((p) => ({
      ...p,
      label: `${p.label}, backward`,
    })),
  ];
  return timeSum(`Work of the slowest stage (${cost.slowestStage})`, 'sum of its operators over all micro-batches', [
    timeSum('Forward', counted, operatorParts(cost.layer, 'forwardSeconds', layers)),
    timeSum('Backward', counted, operatorParts(cost.layer, 'backwardSeconds', layers)),
    timeSum(
      'Recomputation',
      `${counted}, ${plan.recompute.mode}`,
      recomputed.map((o) => timeLeaf(o.label, o.forwardSeconds * layers, o.source)),
    ),
    ...(isFirst ? [timeSum('Embedding', 'first stage', ends(cost.embedding))] : []),
    ...(isLast ? [timeSum('Head and loss', 'last stage', ends(cost.head))] : []),
    timeLeaf('Host time between kernels', cost.layerOverheadSeconds * layers, 'calibration: layerOverheadSeconds'),
  ]);
}

/** The step time as a tree; the root is stepSeconds. */
export function timeParts(plan: Plan, cost: StepCost): TimePart {
  const schedule = schedules[plan.schedule.name as PlannedSchedule];
  const root = timeSum('Step time', 'pipeline, then what follows it (REFERENCE §6)', [
    timeSum('Pipeline', `${schedule.label} over ${plan.pp} stages`, [
      stageWork(plan, cost),
      timeLeaf(
        'Bubble: filling and draining the pipeline',
        cost.pipeline.bubble,
        `${schedule.label} closed form (REFERENCE §6)`,
      ),
      timeLeaf('Waiting for sends between stages', cost.pipeline.sends, 'latency + bytes ÷ bandwidth (REFERENCE §5.1)'),
    ]),
    timeLeaf('Gradient reduction over DP, not hidden', cost.gradReduce.exposedSeconds, 'REFERENCE §5.3–5.4'),
    timeLeaf('Parameter gather over DP, not hidden', cost.paramGather.exposedSeconds, 'REFERENCE §5.3–5.4'),
    timeLeaf(
      'Tied-embedding gradient exchange',
      cost.embeddingExchange.exposedSeconds,
      'REFERENCE §1, first and last stage',
    ),
    timeLeaf('Optimizer', cost.optimizerSeconds, 'bytes ÷ memory bandwidth (REFERENCE §4.4)'),
    timeLeaf('Fixed time per step', cost.overheadSeconds, 'calibration: stepOverheadSeconds'),
  ]);
  return { ...root, seconds: cost.stepSeconds };
}

/** Peak memory of one stage as a tree of categories. */
export function memoryParts(problem: Problem, plan: Plan, stageIndex: number): MemoryPart {
  const items = stageMemoryItems(problem, plan, stageIndex);
  const labels = {
    weights: 'Weights',
    gradients: 'Gradients',
    optimizer: 'Optimizer states',
    activations: 'Activations',
    workspace: 'Workspace',
  };
  const children = Object.entries(labels).map(([category, label]) => {
    const own = items.filter((item) => item.category === category);
    return {
      label,
      bytes: own.reduce((sum, item) => sum + item.bytes, 0),
      source: 'sum of its items',
      children: own.map((item) => ({ label: item.label, bytes: item.bytes, source: item.source, children: [] })),
    };
  });
  return {
    label: `Peak memory of stage ${stageIndex + 1} of ${plan.pp}`,
    bytes: children.reduce((sum, part) => sum + part.bytes, 0),
    source: 'REFERENCE §3',
    children,
  };
}

/**
 * From the ideal to the step time. Work is taken as the mean over stages, and what the slowest stage has beyond the mean
 * is imbalance; so the steps add up to stepSeconds.
 */
export function waterfallOf(problem: Problem, plan: Plan, cost: StepCost): WaterfallStep[] {
  const flops = stepFlops(problem, plan.recompute);
  const m = cost.numMicroBatches;
  const layers = (m * problem.model.numLayers) / plan.pp;
  const mean = (kind: OperatorKind) =>
    layers * (cost.layer.forward[kind] + cost.layer.backward[kind]) +
    (m / plan.pp) *
      (cost.embedding.forward[kind] +
        cost.embedding.backward[kind] +
        cost.head.forward[kind] +
        cost.head.backward[kind]);
  const ideal = flops.model / flops.peakPerSecond;
  const arithmetic = mean('matmul') + mean('attention');
  const recompute = layers * cost.recomputeSeconds;
  const overhead = layers * cost.layerOverheadSeconds;
  const meanWork = arithmetic + mean('elementwise') + mean('communication') + recompute + overhead;
  const loss = (label: string, seconds: number, why: string): WaterfallStep => ({ label, seconds, kind: 'loss', why });
  const { pipeline } = cost;
  const steps: WaterfallStep[] = [
    {
      label: 'Ideal',
      seconds: ideal,
      kind: 'ideal',
      why: 'The model’s FLOPs at the dense peak of every accelerator. No plan can be faster.',
    },
    loss(
      'Kernels below peak',
      arithmetic - ideal,
      'Matmuls and attention run below the dense peak; larger micro-batches or a smaller tp make their shapes better.',
    ),
    loss(
      'Recomputation',
      recompute,
      'Forward work repeated in backward to save memory; a lighter mode saves it if memory allows.',
    ),
    loss(
      'Element-wise kernels',
      mean('elementwise'),
      'Norms, activations, dropout and residuals are bound by memory bandwidth; sequence parallelism splits part of them.',
    ),
    loss(
      'Tensor-parallel communication',
      mean('communication'),
      'Activations summed over the tp group in every layer; a smaller tp or overlap reduces it.',
    ),
    loss('Host time', overhead, 'Gaps between kernels.'),
    loss(
      'Stage imbalance',
      pipeline.busy - meanWork,
      'The stage with the head (or embedding) works longer and the others wait for it.',
    ),
    loss(
      'Pipeline bubble',
      pipeline.bubble,
      'Ranks idle while the pipeline fills and drains; more micro-batches per pipeline or interleaving shrink it.',
    ),
    loss('Pipeline sends', pipeline.sends, 'Ranks wait for activations of the neighbouring stage.'),
    loss(
      'Data-parallel communication',
      cost.gradReduce.exposedSeconds + cost.paramGather.exposedSeconds,
      'Gradients reduced and weights gathered over dp, as far as backward and forward do not hide it.',
    ),
    loss(
      'Tied-embedding exchange',
      cost.embeddingExchange.exposedSeconds,
      'First and last stage sum the gradients of the matrix that both hold.',
    ),
    loss(
      'Optimizer',
      cost.optimizerSeconds,
      'Adam reads and writes every state once; the distributed optimizer divides it by dp.',
    ),
    loss('Fixed time per step', cost.overheadSeconds, 'Data loading, loss and norm synchronisation, logging.'),
  ];
  return steps.filter((step) => step.kind === 'ideal' || Math.abs(step.seconds) > 1e-12);
}

/** The communications of a step, largest exposed first. */
export function communicationsOf(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  const { model, workload, network } = problem;
  const boundary = 2 * workload.seqLen * plan.microBatchSize * model.hiddenSize;
  const layers = cost.numMicroBatches * cost.layersPerStage;
  const list: Communication[] = [];
  const domain = network.scaleUpDomainSize;
  if (plan.tp > 1) {
    const passes = plan.recompute.mode === 'full' ? 3 : 2;
    const perPass = plan.sequenceParallel ? 4 : 2;
    const calls = layers * passes * perPass;
    const seconds = layers * (cost.layer.forward.communication * (passes - 1) + cost.layer.backward.communication);
    list.push({
      label: 'Activations between tensor-parallel ranks',
      group: 'tp',
      groupSize: plan.tp,
      placement: plan.tp <= domain ? 'scale-up' : 'scale-out',
      operation: plan.sequenceParallel ? 'all-gather + reduce-scatter' : 'all-reduce',
      callsPerStep: calls,
      bytesPerCall: boundary,
      secondsPerCall: seconds / calls,
      totalSeconds: seconds,
      exposedSeconds: seconds,
    });
  }
  if (plan.pp > 1) {
    const calls = 2 * cost.numMicroBatches * plan.vpp;
    list.push({
      label: 'Activations and their gradients between stages',
      group: 'pp',
      groupSize: plan.pp,
      placement: network.numAccelerators / plan.pp < domain ? 'scale-up' : 'scale-out',
      operation: 'send/receive',
      callsPerStep: calls,
      bytesPerCall: cost.sendBytes,
      secondsPerCall: cost.sendSeconds,
      totalSeconds: calls * cost.sendSeconds,
      exposedSeconds: cost.pipeline.sends,
    });
  }
  const overDp = (label: string, operation: string, part: StepCost['gradReduce']) => {
    if (part.totalSeconds === 0) return;
    list.push({
      label,
      group: 'dp',
      groupSize: plan.dp,
      placement: placementOf(cost.dpGroup),
      operation,
      callsPerStep: 1,
      bytesPerCall: part.bytes,
      secondsPerCall: part.totalSeconds,
      totalSeconds: part.totalSeconds,
      exposedSeconds: part.exposedSeconds,
    });
  };
  overDp(
    'Gradients over data-parallel ranks',
    plan.sharding.zeroStage >= 1 ? 'reduce-scatter' : 'all-reduce',
    cost.gradReduce,
  );
  overDp('Updated weights over data-parallel ranks', 'all-gather', cost.paramGather);
  if (cost.embeddingExchange.totalSeconds > 0)
    list.push({
      label: 'Tied-embedding gradients between first and last stage',
      group: 'embedding',
      groupSize: 2,
      placement: (network.numAccelerators / plan.pp) * (plan.pp - 1) < domain ? 'scale-up' : 'scale-out',
      operation: 'all-reduce',
      callsPerStep: 1,
      bytesPerCall: cost.embeddingExchange.bytes,
      secondsPerCall: cost.embeddingExchange.totalSeconds,
      totalSeconds: cost.embeddingExchange.totalSeconds,
      exposedSeconds: cost.embeddingExchange.exposedSeconds,
    });
  return list.sort((a, b) => b.exposedSeconds - a.exposedSeconds);
}
