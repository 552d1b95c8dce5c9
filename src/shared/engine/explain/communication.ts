/** The communications of a step: who talks, how much, over which links, and how much of it is waited for. */
import type { Communication, Plan } from '../../schema/index.ts';
import { placementOf, type Placement } from '../network/index.ts';
import type { Problem } from '../problem.ts';
import type { StepCost } from '../step.ts';

/** Where neighbours `stride` ranks apart meet. */
function placementOfStride(problem: Problem, stride: number): Placement {
  return stride < problem.network.scaleUpDomainSize ? 'scale-up' : 'scale-out';
}

function tensorParallel(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  if (plan.tp === 1) return [];
  const { model, workload, network } = problem;
  const layers = cost.numMicroBatches * cost.layersPerStage;
  const passes = plan.recompute.mode === 'full' ? 3 : 2;
  const calls = layers * passes * (plan.sequenceParallel ? 4 : 2);
  const seconds = layers * (cost.layer.forward.communication * (passes - 1) + cost.layer.backward.communication);
  return [
    {
      label: 'Activations between tensor-parallel ranks',
      group: 'tp',
      groupSize: plan.tp,
      placement: plan.tp <= network.scaleUpDomainSize ? 'scale-up' : 'scale-out',
      operation: plan.sequenceParallel ? 'all-gather + reduce-scatter' : 'all-reduce',
      callsPerStep: calls,
      bytesPerCall: 2 * workload.seqLen * plan.microBatchSize * model.hiddenSize,
      secondsPerCall: seconds / calls,
      totalSeconds: seconds,
      exposedSeconds: seconds,
    },
  ];
}

function pipelineSends(problem: Problem, plan: Plan, cost: StepCost): Communication[] {
  if (plan.pp === 1) return [];
  const calls = 2 * cost.numMicroBatches * plan.vpp;
  return [
    {
      label: 'Activations and their gradients between stages',
      group: 'pp',
      groupSize: plan.pp,
      placement: placementOfStride(problem, problem.network.numAccelerators / plan.pp),
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
  const endToEnd = (problem.network.numAccelerators / plan.pp) * (plan.pp - 1);
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
        placement: placementOfStride(problem, endToEnd),
        operation: 'all-reduce',
      },
      cost.embeddingExchange,
    ),
  ];
  return list.sort((a, b) => b.exposedSeconds - a.exposedSeconds);
}
