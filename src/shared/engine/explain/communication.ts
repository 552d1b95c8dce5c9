/** The communications of a step: who talks, how much, over which links, and how much of it is waited for. */
import type { Communication, LayerKind, Plan } from '../../schema/index.ts';
import { groupsOf, placementOf, type Group, type Placement } from '../network/index.ts';
import type { Problem } from '../problem.ts';
import type { StepCost } from '../step.ts';
import { stackOf } from '../../layer-stack.ts';
import { numBlocks } from '../workload/parts/index.ts';

/** The slowest links that a group's messages cross. */
function placementIn({ network }: Problem, group: Group): Placement {
  return placementOf(group, { ...network, domainSize: network.scaleUpDomainSize });
}

function tensorParallel(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  if (plan.tp === 1) return [];
  const { model, workload } = problem;
  const counts = cost.ranks[cost.slowestRank]?.counts ?? [];
  const forwardPasses = plan.recompute.mode === 'full' ? 2 : 1;
  // per block; with sequence parallelism one more all-gather in backward rebuilds the input
  const callsPerBlock = plan.sequenceParallel ? 2 * forwardPasses + 3 : forwardPasses + 1;
  const { kinds } = stackOf(model);
  const blocksOf = (kind: LayerKind | undefined) => (kind === undefined ? 0 : numBlocks(kind));
  let calls = 0;
  let exposedSeconds = 0;
  let hiddenSeconds = 0;
  cost.kinds.forEach(({ cost: layer }, index) => {
    const times = cost.numMicroBatches * (counts[index] ?? 0);
    calls += times * blocksOf(kinds[index]) * callsPerBlock;
    exposedSeconds += times * (forwardPasses * layer.forward.communication + layer.backward.communication);
    hiddenSeconds += times * (forwardPasses * layer.hidden.forwardSeconds + layer.hidden.backwardSeconds);
  });
  if (calls === 0) return []; // a slowest stage that holds only the embedding or the head
  const totalSeconds = exposedSeconds + hiddenSeconds;
  return [
    {
      label: 'Activations between tensor-parallel ranks',
      group: 'tp',
      groupSize: plan.tp,
      placement: placementIn(problem, groupsOf(problem, plan).tp),
      operation: plan.sequenceParallel ? 'all-gather + reduce-scatter' : 'all-reduce',
      callsPerStep: calls,
      bytesPerCall: 2 * workload.seqLen * plan.microBatchSize * model.hiddenSize,
      secondsPerCall: totalSeconds / calls,
      totalSeconds,
      exposedSeconds,
    },
  ];
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

/** The communications of a step, largest exposed first. */
export function communicationsOf(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  const overDp = { group: 'dp', groupSize: plan.dp, placement: placementIn(problem, cost.dpGroup) };
  const list = [
    ...tensorParallel(problem, plan, cost),
    ...pipelineSends(problem, plan, cost),
    ...oncePerStep(
      {
        ...overDp,
        label: 'Gradients over data-parallel ranks',
        operation: plan.sharding.zeroStage >= 1 ? 'reduce-scatter' : 'all-reduce',
      },
      cost.gradReduce,
    ),
    ...oncePerStep(
      { ...overDp, label: 'Updated weights over data-parallel ranks', operation: 'all-gather' },
      cost.paramGather,
    ),
    ...oncePerStep(
      {
        label: 'Tied-embedding gradients between first and last stage',
        group: 'embedding',
        groupSize: 2,
        placement: placementIn(problem, groupsOf(problem, plan).embedding),
        operation: 'all-reduce',
      },
      cost.embeddingExchange,
    ),
  ];
  return list.sort((a, b) => b.exposedSeconds - a.exposedSeconds);
}
