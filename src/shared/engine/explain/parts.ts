/** Where a step's time and a device's memory go, as trees whose children sum to their parent. */
import type { MemoryPart, Plan, TimePart } from '../../schema/index.ts';
import { stageMemoryItems } from '../memory/index.ts';
import { scheduleOf } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { onceSeconds, type KindCost, type StepCost } from '../step/index.ts';
import { isIn, type LayerCost, type Operator } from '../workload/operators.ts';

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

/** One pass over the layers of the slowest rank: their operators, grouped by kind where there are several. */
function layerPass(label: string, cost: StepCost, partsOf: (kind: KindCost, times: number) => TimePart[]): TimePart {
  const counts = cost.ranks[cost.slowestRank]?.counts ?? [];
  const kinds = cost.kinds.flatMap((kind, index) => {
    const count = counts[index] ?? 0;
    return count === 0 ? [] : [{ kind, count }];
  });
  const counted = (count: number) => `${cost.numMicroBatches} micro-batches × ${count} layers`;
  const [only] = kinds;
  if (kinds.length === 1 && only !== undefined)
    return timeSum(label, counted(only.count), partsOf(only.kind, cost.numMicroBatches * only.count));
  const children = kinds.map(({ kind, count }) =>
    timeSum(`Layers of kind ${kind.name}`, counted(count), partsOf(kind, cost.numMicroBatches * count)),
  );
  return timeSum(label, 'sum over kinds of layers', children);
}

function recomputedParts(plan: Plan, { cost }: KindCost, times: number): TimePart[] {
  const { mode, modules } = plan.recompute;
  const isRepeated = (operator: Operator) => mode === 'full' || (mode === 'selective' && isIn(operator, modules));
  return cost.operators.filter(isRepeated).map((o) => timeLeaf(o.label, o.forwardSeconds * times, o.source));
}

function stageWork(plan: Plan, cost: StepCost): TimePart {
  const rank = cost.ranks[cost.slowestRank];
  const share = cost.recomputedShare[cost.slowestRank] ?? 0;
  const ends = (end: LayerCost) => [
    ...operatorParts(end, 'forwardSeconds', cost.numMicroBatches).map((p) => ({ ...p, label: `${p.label}, forward` })),
    ...operatorParts(end, 'backwardSeconds', cost.numMicroBatches).map((p) => ({
      ...p,
      label: `${p.label}, backward`,
    })),
  ];
  const where = plan.pp === 1 ? 'the only one' : `${cost.slowestRank + 1} of ${plan.pp}`;
  return timeSum(`Work of the slowest stage (${where})`, 'sum of its operators over all micro-batches', [
    layerPass('Forward', cost, (kind, times) => operatorParts(kind.cost, 'forwardSeconds', times)),
    layerPass('Backward', cost, (kind, times) => operatorParts(kind.cost, 'backwardSeconds', times)),
    layerPass(`Recomputation, ${plan.recompute.mode}`, cost, (kind, times) =>
      recomputedParts(plan, kind, times * share),
    ),
    ...(rank?.hasEmbedding === true ? [timeSum('Embedding', 'first stage', ends(cost.embedding))] : []),
    ...(rank?.hasHead === true ? [timeSum('Head and loss', 'last stage', ends(cost.head))] : []),
    timeLeaf(
      'Multi-token prediction',
      cost.numMicroBatches * (rank?.mtpLayers ?? 0) * cost.mtpSeconds,
      'a layer, its projection and a pass of the head (docs/MODEL.md §1)',
    ),
    timeLeaf(
      'Waiting for shards of weights and gradients',
      cost.numMicroBatches * (cost.shardWaits[cost.slowestRank] ?? 0),
      'volume and overlap docs/MODEL.md §5.3–5.4',
    ),
    timeLeaf(
      'Host time between kernels',
      cost.layerOverheadSeconds * cost.numMicroBatches * (rank?.layers ?? 0),
      'fitted constant layerOverheadSeconds (docs/MODEL.md §9)',
    ),
  ]);
}

/** The step time as a tree; the root is stepSeconds. */
export function timeParts(plan: Plan, cost: StepCost): TimePart {
  const schedule = scheduleOf(plan);
  const root = timeSum('Step time', 'pipeline, then what follows it (docs/MODEL.md §6)', [
    timeSum('Pipeline', `${schedule.label} over ${plan.pp} stages`, [
      stageWork(plan, cost),
      timeLeaf(
        'Bubble: filling and draining the pipeline',
        cost.pipeline.bubble,
        `${schedule.label} closed form (docs/MODEL.md §6)`,
      ),
      timeLeaf(
        'Waiting for sends between stages',
        cost.pipeline.sends,
        'latency + bytes ÷ bandwidth (docs/MODEL.md §5.1)',
      ),
    ]),
    timeLeaf(
      'Gradient reduction over DP, not hidden',
      onceSeconds(cost.gradReduce, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
    ),
    timeLeaf(
      'Parameter gather over DP, not hidden',
      onceSeconds(cost.paramGather, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
    ),
    timeLeaf(
      'Gradient reduction of experts, not hidden',
      onceSeconds(cost.expertGradReduce, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
    ),
    timeLeaf(
      'Parameter gather of experts, not hidden',
      onceSeconds(cost.expertParamGather, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
    ),
    timeLeaf('Offload to the host, not hidden', cost.offload.exposedSeconds, 'bytes ÷ host link (docs/MODEL.md §3.1)'),
    timeLeaf(
      'Tied-embedding gradient exchange',
      cost.embeddingExchange.exposedSeconds,
      'both hold the matrix (docs/MODEL.md §1, §5.3)',
    ),
    timeLeaf('Optimizer', cost.optimizerSeconds, 'bytes ÷ memory bandwidth (docs/MODEL.md §4.4)'),
    timeLeaf('Fixed time per step', cost.overheadSeconds, 'fitted constant stepOverheadSeconds (docs/MODEL.md §9)'),
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
    source: 'docs/MODEL.md §3',
    children,
  };
}
