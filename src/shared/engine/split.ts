/**
 * What a plan's degrees mean for groups of ranks: how many hold the same weights, and over how many the states of the
 * optimizer, gradients and weights are sharded.
 *
 * Dense parameters are the same on all dp·cp ranks of a pipeline stage and tp rank. Experts have a mesh of their own:
 * etp·ep·edp·pp = the number of accelerators, so that ep may exceed dp ("folding"); an expert's weights are the same on
 * edp ranks. Source: Megatron-LM parallel_state.py (expert decoder ranks); MODEL §3.1, §5.5.
 */
import type { Plan } from '../schema/index.ts';
import { forLast } from './remember.ts';

export interface Split {
  /** Ranks that hold the same dense weights: dp·cp. */
  denseReplicas: number;
  /** Ranks that hold the same experts: edp. */
  expertReplicas: number;
  /** Ranks over which dense and expert states are sharded (1 = not at all), and copies of each shard. */
  denseShards: number;
  denseCopies: number;
  expertShards: number;
  expertCopies: number;
}

/** Copies of each shard: as many as there are sharding groups among the dense replicas, and the same for experts. */
function copiesOf({ sharding, cp }: Plan, denseReplicas: number): { dense: number; experts: number } {
  if (sharding.zeroStage === 0) return { dense: denseReplicas, experts: Number.POSITIVE_INFINITY };
  const { group } = sharding;
  if (typeof group === 'object') {
    const copies = Math.max(1, denseReplicas / group.size);
    return { dense: copies, experts: copies };
  }
  // Megatron-LM and FSDP shard over dp and cp together; `dp` keeps a copy per cp rank
  return { dense: group === 'dp' ? cp : 1, experts: 1 };
}

/** The replica and shard groups of a valid plan. */
export const splitOf = forLast((plan: Plan): Split => {
  const denseReplicas = plan.dp * plan.cp;
  const expertReplicas = (plan.tp * plan.cp * plan.dp) / (plan.ep * plan.etp);
  const copies = copiesOf(plan, denseReplicas);
  const denseShards = denseReplicas / copies.dense;
  const expertShards = Math.max(1, expertReplicas / copies.experts);
  return {
    denseReplicas,
    expertReplicas,
    denseShards,
    denseCopies: denseReplicas / denseShards,
    expertShards,
    expertCopies: expertReplicas / expertShards,
  };
});
