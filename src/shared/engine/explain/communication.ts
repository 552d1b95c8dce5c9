/** The communications of a step: who talks, how much, over which links, and how much of it is waited for. */
import type { Communication, Plan } from '../../schema/index.ts';
import { placementOf, sendPlacement } from '../network/index.ts';
import type { Problem } from '../problem.ts';
import type { StepCost } from '../step.ts';

function tensorParallel(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  if (plan.tp === 1) return [];
  const { model, workload, network } = problem;
  const layers = cost.numMicroBatches * cost.layersPerStage;
  if (layers === 0) return []; // a slowest stage that holds only the embedding or the head
  const { forward, backward, hidden } = cost.layer;
  const forwardPasses = plan.recompute.mode === 'full' ? 2 : 1;
  // with sequence parallelism two more all-gathers in backward rebuild inputs
  const callsPerLayer = plan.sequenceParallel ? 4 * forwardPasses + 6 : 2 * forwardPasses + 2;
  const calls = layers * callsPerLayer;
  const exposedSeconds = layers * (forwardPasses * forward.communication + backward.communication);
  const hiddenSeconds = layers * (forwardPasses * hidden.forwardSeconds + hidden.backwardSeconds);
  const totalSeconds = exposedSeconds + hiddenSeconds;
  return [
    {
      label: 'Activations between tensor-parallel ranks',
      group: 'tp',
      groupSize: plan.tp,
      placement: plan.tp <= network.scaleUpDomainSize ? 'scale-up' : 'scale-out',
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
      placement: sendPlacement(problem.network.numAccelerators, problem.network.scaleUpDomainSize),
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
  const overDp = { group: 'dp', groupSize: plan.dp, placement: placementOf(cost.dpGroup) };
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
        placement: sendPlacement(problem.network.numAccelerators, problem.network.scaleUpDomainSize),
        operation: 'all-reduce',
      },
      cost.embeddingExchange,
    ),
  ];
  return list.sort((a, b) => b.exposedSeconds - a.exposedSeconds);
}
