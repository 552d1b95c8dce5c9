/** Where a step's time and a device's memory go, as trees whose children sum to their parent. */
import type { MemoryPart, Plan, Quantity, TimePart } from '../../schema/index.ts';
import { stageMemoryItems } from '../memory/index.ts';
import { scheduleOf } from '../pipeline/schedules/index.ts';
import type { Problem } from '../problem.ts';
import { onceSeconds, type Hideable, type KindCost, type StepCost } from '../step/index.ts';
import { quantity, type Explanation } from '../workload/explanation.ts';
import { isIn, type LayerCost, type Operator } from '../workload/operators.ts';

function timeLeaf(label: string, seconds: number, source: string, explanation?: Explanation): TimePart {
  return { label, seconds, source, ...explanation, children: [] };
}

/** A constant of the calibration, so many times. */
function constantTimes(name: string, value: number, times: Quantity[]): Explanation {
  const formula = [name, ...times.map(({ label }) => label)].join(' · ');
  return { formula, inputs: [quantity(name, value, 's'), ...times] };
}

/** What is waited for of a communication that compute hides in part. */
function explainHideable({ totalSeconds, exposedSeconds, bytes }: Hideable, ranks: number): Explanation {
  return {
    formula: 'time of all buckets − what the passes of the layers hide; the first or last bucket at least',
    inputs: [
      quantity('array over the step', bytes, 'B'),
      quantity('ranks', ranks),
      quantity('time of all buckets', totalSeconds, 's'),
      quantity('hidden', totalSeconds - exposedSeconds, 's'),
    ],
  };
}

/** A parent that is exactly the sum of its children; parts of no time are left out. */
function timeSum(label: string, source: string, parts: TimePart[]): TimePart {
  const children = parts.filter((part) => part.seconds !== 0);
  return { label, seconds: children.reduce((sum, part) => sum + part.seconds, 0), source, children };
}

type Pass = 'forwardSeconds' | 'backwardSeconds';

/** One operator in all micro-batches and layers: its own formula, so many times. */
function operatorPart(operator: Operator, pass: Pass, times: number): TimePart {
  const one = operator.explain?.(pass === 'forwardSeconds' ? 'forward' : 'backward');
  const explanation =
    one === undefined
      ? { formula: 'calls · seconds of one', inputs: [] }
      : { formula: `calls · (${one.formula})`, inputs: one.inputs };
  const part = timeLeaf(operator.label, operator[pass] * times, operator.source, {
    formula: explanation.formula,
    inputs: [quantity('calls', times), quantity('seconds of one', operator[pass], 's'), ...explanation.inputs],
  });
  const uneven = operator.shares?.uneven?.[pass] ?? 0;
  return uneven === 0 ? part : { ...part, children: unevenParts(operator, pass, times, uneven) };
}

/** What an operator takes with evenly filled experts, and what its fullest rank takes longer. */
function unevenParts(operator: Operator, pass: Pass, times: number, uneven: number): TimePart[] {
  const even = operator[pass] - uneven;
  const calls = quantity('calls', times);
  return [
    timeLeaf('Evenly filled experts', even * times, operator.source, {
      formula: 'calls · seconds of one',
      inputs: [calls, quantity('seconds of one', even, 's')],
    }),
    timeLeaf('Fullest rank beyond the mean', uneven * times, 'plan.runtime.expertImbalance (docs/MODEL.md §4.1)', {
      formula: 'calls · (seconds at the fullest rank’s rows − seconds at the mean’s)',
      inputs: [
        calls,
        quantity('seconds at the fullest rank’s rows', operator[pass], 's'),
        quantity('seconds at the mean’s', even, 's'),
      ],
    }),
  ];
}

function operatorParts(cost: LayerCost, pass: Pass, times: number): TimePart[] {
  return cost.operators.map((operator) => operatorPart(operator, pass, times));
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
  return cost.operators.filter(isRepeated).map((operator) => operatorPart(operator, 'forwardSeconds', times));
}

/** What the slowest stage does beside its layers and ends. */
function besideLayers(cost: StepCost): TimePart[] {
  const rank = cost.ranks[cost.slowestRank];
  return [
    timeLeaf(
      'Multi-token prediction',
      cost.numMicroBatches * (rank?.mtpLayers ?? 0) * cost.mtpSeconds,
      'a layer, its projection and a pass of the head (docs/MODEL.md §1)',
      {
        formula: 'micro-batches · prediction layers · seconds of one',
        inputs: [
          quantity('micro-batches', cost.numMicroBatches),
          quantity('prediction layers', rank?.mtpLayers ?? 0),
          quantity('seconds of one', cost.mtpSeconds, 's'),
        ],
      },
    ),
    timeLeaf(
      'Waiting for shards of weights and gradients',
      cost.numMicroBatches * (cost.shardWaits[cost.slowestRank] ?? 0),
      'volume and overlap docs/MODEL.md §5.3–5.4',
      {
        formula: 'micro-batches · what the passes of the layers do not hide',
        inputs: [
          quantity('micro-batches', cost.numMicroBatches),
          quantity('waited for in one', cost.shardWaits[cost.slowestRank] ?? 0, 's'),
        ],
      },
    ),
    timeLeaf(
      'Host time between kernels',
      cost.numMicroBatches * (cost.hostWaits[cost.slowestRank] ?? 0),
      'kernels that the host starts · fitted constant hostLaunchSeconds (docs/MODEL.md §4.4, §9)',
      {
        formula: 'micro-batches · Σ layers ((device⁴ + host⁴)^¼ − device)',
        inputs: [
          quantity('micro-batches', cost.numMicroBatches),
          quantity('waited for in one', cost.hostWaits[cost.slowestRank] ?? 0, 's'),
          ...cost.kinds.map(({ name, cost: { steady, loose } }) =>
            quantity(
              `launches of one layer${cost.kinds.length > 1 ? ` (${name})` : ''}`,
              [steady, loose].reduce((n, { launches }) => n + launches.forward + launches.backward, 0),
            ),
          ),
        ],
      },
    ),
  ];
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
    ...besideLayers(cost),
  ]);
}

/** What decides the bubble: see the schedule's closed form or its order of work. */
function pipelineInputs(plan: Plan, cost: StepCost): Explanation {
  return {
    formula: 'makespan of the schedule − work of the slowest stage − sends',
    inputs: [
      quantity('stages', plan.pp),
      quantity('virtual stages per rank', plan.vpp),
      quantity('micro-batches', cost.numMicroBatches),
      quantity('work of the slowest stage', cost.pipeline.busy, 's'),
      quantity('work of all stages for one micro-batch', sumOf(cost.rankSeconds), 's'),
    ],
  };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** What follows the pipeline, once per step. */
function afterPipeline(cost: StepCost): TimePart[] {
  return [
    timeLeaf(
      'Gradient reduction over DP, not hidden',
      onceSeconds(cost.gradReduce, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
      explainHideable(cost.gradReduce, cost.dpGroup.size),
    ),
    timeLeaf(
      'Parameter gather over DP, not hidden',
      onceSeconds(cost.paramGather, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
      explainHideable(cost.paramGather, cost.dpGroup.size),
    ),
    timeLeaf(
      'Gradient reduction of experts, not hidden',
      onceSeconds(cost.expertGradReduce, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
      explainHideable(cost.expertGradReduce, cost.expertGroup?.size ?? 1),
    ),
    timeLeaf(
      'Parameter gather of experts, not hidden',
      onceSeconds(cost.expertParamGather, cost.numMicroBatches),
      'volume and overlap docs/MODEL.md §5.3–5.4',
      explainHideable(cost.expertParamGather, cost.expertGroup?.size ?? 1),
    ),
    timeLeaf(
      'Offload to the host, not hidden',
      cost.offload.exposedSeconds,
      'bytes ÷ host link (docs/MODEL.md §3.1)',
      explainHideable(cost.offload, 1),
    ),
    timeLeaf(
      'Tied-embedding gradient exchange',
      cost.embeddingExchange.exposedSeconds,
      'both hold the matrix (docs/MODEL.md §1, §5.3)',
      explainHideable(cost.embeddingExchange, 2),
    ),
    timeLeaf('Optimizer', cost.optimizerSeconds, 'bytes ÷ memory bandwidth (docs/MODEL.md §4.4)', {
      formula: 'bytes ÷ (memory bandwidth · optimizerEfficiency)',
      inputs: [quantity('bytes', cost.optimizerBytes, 'B')],
    }),
    timeLeaf(
      'Fixed time per step',
      cost.overheadSeconds,
      'fitted constant stepOverheadSeconds (docs/MODEL.md §9)',
      constantTimes('stepOverheadSeconds', cost.overheadSeconds, []),
    ),
  ];
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
        pipelineInputs(plan, cost),
      ),
      timeLeaf(
        'Waiting for sends between stages',
        cost.pipeline.sends,
        'latency + bytes ÷ bandwidth (docs/MODEL.md §5.1)',
        {
          formula: 'sends on the way that nothing hides · (latency + bytes ÷ bandwidth)',
          inputs: [quantity('bytes of one', cost.sendBytes, 'B'), quantity('seconds of one', cost.sendSeconds, 's')],
        },
      ),
    ]),
    ...afterPipeline(cost),
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
