/**
 * What a plan's degrees mean for groups of ranks: how many hold the same weights, and over how many the states of the
 * optimizer, gradients and weights are sharded.
 *
 * Dense parameters are the same on all dp·cp ranks of a pipeline stage and tp rank. Experts have a mesh of their own:
 * etp·ep·edp·pp = the number of accelerators, so that ep may exceed dp ("folding"); an expert's weights are the same on
 * edp ranks. Source: Megatron-LM parallel_state.py (expert decoder ranks); MODEL §3.1, §5.5.
 */
import type { Plan } from '../schema/index.ts';

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

/** Ranks of a sharding group: all replicas, those of dp alone, or a subgroup of `size`. */
function shardsOf({ sharding, cp }: Plan, replicas: number, sharesCp: boolean): number {
  if (sharding.zeroStage === 0) return 1;
  const { group } = sharding;
  if (typeof group === 'object') return Math.min(group.size, replicas);
  // Megatron-LM and FSDP shard over dp and cp together; `dp` keeps a copy per cp rank
  return group === 'dp' && sharesCp ? replicas / cp : replicas;
}

/** The replica and shard groups of a valid plan. */
export function splitOf(plan: Plan): Split {
  const denseReplicas = plan.dp * plan.cp;
  const expertReplicas = (plan.tp * plan.cp * plan.dp) / (plan.ep * plan.etp);
  const denseShards = shardsOf(plan, denseReplicas, true);
  const expertShards = shardsOf(plan, expertReplicas, false);
  return {
    denseReplicas,
    expertReplicas,
    denseShards,
    denseCopies: denseReplicas / denseShards,
    expertShards,
    expertCopies: expertReplicas / expertShards,
  };
}
