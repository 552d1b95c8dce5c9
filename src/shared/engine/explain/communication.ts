/** The communications of a step: who talks, how much, over which links, and how much of it is waited for. */
import type { Communication, Plan } from '../../schema/index.ts';
import { groupsOf, placementOf, type Group, type Placement } from '../network/index.ts';
import type { Problem } from '../problem.ts';
import type { StepCost } from '../step/index.ts';
import { stackOf } from '../../layer-stack.ts';
import { isIn } from '../workload/operators.ts';

/** The slowest links that a group's messages cross. */
function placementIn({ network }: Problem, group: Group): Placement {
  return placementOf(group, { ...network, domainSize: network.scaleUpDomainSize });
}

interface LayerTraffic {
  calls: number;
  exposedSeconds: number;
  totalSeconds: number;
}

/** What the layers of the slowest rank exchange over some groups in a step. */
function layerTraffic(plan: Plan, cost: StepCost, groups: readonly string[]): LayerTraffic {
  const rank = cost.ranks[cost.slowestRank];
  const share = cost.recomputedShare[cost.slowestRank] ?? 0;
  const { mode, modules } = plan.recompute;
  const traffic = { calls: 0, exposedSeconds: 0, totalSeconds: 0 };
  cost.kinds.forEach(({ cost: layer }, index) => {
    const times = cost.numMicroBatches * (rank?.counts[index] ?? 0);
    for (const operator of layer.operators) {
      if (operator.kind !== 'communication' || !groups.includes(operator.group ?? 'tp')) continue;
      const isRepeated = mode === 'full' || (mode === 'selective' && isIn(operator, modules));
      const forwards = isRepeated ? 1 + share : 1;
      const exposed = forwards * operator.forwardSeconds + operator.backwardSeconds;
      const hidden = forwards * (operator.hiddenForwardSeconds ?? 0) + (operator.hiddenBackwardSeconds ?? 0);
      traffic.calls += times * (forwards + 1);
      traffic.exposedSeconds += times * exposed;
      traffic.totalSeconds += times * (exposed + hidden);
    }
  });
  return traffic;
}

type InsideRow = Pick<Communication, 'label' | 'groupSize' | 'operation' | 'bytesPerCall'> & {
  group: 'tp' | 'cp' | 'ep' | 'etp';
  callsPerPass: number;
};

function sequenceRows(problem: Problem, plan: Plan, tokens: number): InsideRow[] {
  const { model } = problem;
  return [
    {
      label: 'Activations between tensor-parallel ranks',
      group: 'tp',
      groupSize: plan.tp,
      operation: plan.sequenceParallel ? 'all-gather + reduce-scatter' : 'all-reduce',
      // with sequence parallelism each pass is a gather and a scatter, and one more gather rebuilds the input in backward
      callsPerPass: plan.sequenceParallel ? 2.5 : 1,
      bytesPerCall: 2 * tokens * model.hiddenSize,
    },
    {
      label: 'Keys and values between context-parallel ranks',
      group: 'cp',
      groupSize: plan.cp,
      operation: plan.cpMethod,
      callsPerPass: 1,
      bytesPerCall: (4 * tokens * model.numKvHeads * model.headDim * plan.cp) / Math.min(plan.tp, model.numKvHeads),
    },
  ];
}

function expertRows(problem: Problem, plan: Plan, tokens: number): InsideRow[] {
  const { model } = problem;
  const perToken = stackOf(model).kinds.map(({ ffn }) => (ffn.type === 'moe' ? ffn.expertsPerToken : 0));
  const bytes = ((2 * tokens) / (plan.sequenceParallel ? plan.tp : 1)) * Math.max(0, ...perToken) * model.hiddenSize;
  return [
    {
      label: 'Tokens to their experts and back',
      group: 'ep',
      groupSize: plan.ep,
      operation: 'all-to-all',
      callsPerPass: 2,
      bytesPerCall: bytes,
    },
    {
      label: 'Tokens between the ranks of one expert',
      group: 'etp',
      groupSize: plan.etp,
      operation: 'all-gather + reduce-scatter',
      callsPerPass: 2,
      bytesPerCall: bytes * plan.etp,
    },
  ];
}

/** The communications inside layers, one row per group of ranks. */
function insideLayers(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  const tokens = (problem.workload.seqLen / plan.cp) * plan.microBatchSize;
  const rows = [...sequenceRows(problem, plan, tokens), ...expertRows(problem, plan, tokens)];
  return rows.flatMap(({ callsPerPass, ...row }) => {
    if (row.groupSize === 1) return [];
    const { calls, exposedSeconds, totalSeconds } = layerTraffic(plan, cost, [row.group]);
    if (calls === 0) return []; // a slowest stage that holds only the embedding or the head
    const callsPerStep = calls * callsPerPass;
    const placement = placementIn(problem, groupsOf(problem, plan)[row.group]);
    return [
      { ...row, placement, callsPerStep, secondsPerCall: totalSeconds / callsPerStep, totalSeconds, exposedSeconds },
    ];
  });
}

function pipelineSends(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  if (plan.pp === 1) return [];
  // on the slowest path: the hops of fill and drain, and two exchanges of every further micro-batch and chunk
  const calls = 2 * (plan.pp * plan.vpp - 1 + (cost.numMicroBatches - 1) * plan.vpp);
  return [
    {
      label: 'Activations and their gradients between stages',
      group: 'pp',
      groupSize: plan.pp,
      placement: placementIn(problem, groupsOf(problem, plan).pp),
      operation: 'send/receive',
      callsPerStep: calls,
      bytesPerCall: cost.sendBytes,
      secondsPerCall: cost.sendSeconds,
      totalSeconds: calls * cost.sendSeconds,
      exposedSeconds: cost.pipeline.sends,
    },
  ];
}

type Hidden = StepCost['gradReduce'];
type Kind = Pick<Communication, 'label' | 'group' | 'groupSize' | 'placement' | 'operation'>;

function oncePerStep(kind: Kind, { totalSeconds, exposedSeconds, bytes }: Hidden): Communication[] {
  if (totalSeconds === 0) return [];
  return [
    { ...kind, callsPerStep: 1, bytesPerCall: bytes, secondsPerCall: totalSeconds, totalSeconds, exposedSeconds },
  ];
}

/** Gradients and weights between ranks that hold the same ones: dense layers over dp, experts over their own ranks. */
function betweenReplicas(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  const reduction = plan.sharding.zeroStage >= 1 ? 'reduce-scatter' : 'all-reduce';
  const gathered = plan.sharding.zeroStage === 3 ? 'gathered before use' : 'updated';
  const over = (group: string, of: StepCost['dpGroup']) => ({
    group,
    groupSize: of.size,
    placement: placementIn(problem, of),
  });
  const dense = over('dp', cost.dpGroup);
  const list = [
    ...oncePerStep({ ...dense, label: 'Gradients over data-parallel ranks', operation: reduction }, cost.gradReduce),
    ...oncePerStep(
      { ...dense, label: `Weights ${gathered}, over data-parallel ranks`, operation: 'all-gather' },
      cost.paramGather,
    ),
  ];
  if (cost.expertGroup === null) return list;
  const experts = over('edp', cost.expertGroup);
  return [
    ...list,
    ...oncePerStep(
      { ...experts, label: 'Gradients of experts over the ranks that hold them', operation: reduction },
      cost.expertGradReduce,
    ),
    ...oncePerStep(
      { ...experts, label: `Weights of experts ${gathered}`, operation: 'all-gather' },
      cost.expertParamGather,
    ),
  ];
}

/** The communications of a step, largest exposed first. */
export function communicationsOf(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  const exchange = {
    label: 'Tied-embedding gradients between first and last stage',
    group: 'embedding',
    groupSize: 2,
    placement: placementIn(problem, groupsOf(problem, plan).embedding),
    operation: 'all-reduce',
  };
  const host = {
    label: 'Offloaded states and activations',
    group: 'host',
    groupSize: 1,
    placement: 'host' as const,
    operation: 'copy',
  };
  const list = [
    ...insideLayers(problem, plan, cost),
    ...pipelineSends(problem, plan, cost),
    ...betweenReplicas(problem, plan, cost),
    ...oncePerStep(exchange, cost.embeddingExchange),
    ...oncePerStep(host, cost.offload),
  ];
  return list.sort((a, b) => b.exposedSeconds - a.exposedSeconds);
}
