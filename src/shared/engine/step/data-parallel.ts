/**
 * Communication between ranks that hold the same weights: gradients reduced, weights gathered, by how states are sharded.
 *
 *   plain DP       all-reduce of gradients once per step
 *   ZeRO-1         reduce-scatter of gradients and all-gather of updated weights, once per step each
 *   ZeRO-2         reduce-scatter per micro-batch (each rank keeps its shard only); all-gather once per step
 *   ZeRO-3, FSDP   all-gather of each layer's weights before its forward (and before its backward where they are dropped in
 *                  between), reduce-scatter after its backward, per micro-batch
 * With sharding over a subgroup of F ranks the gathers and scatters stay inside it, and the copies of its shards are
 * all-reduced once per step. Experts have a mesh of their own (split.ts).
 * Source: ZeRO (arXiv 1910.02054 §5, §7); MODEL §5.3 (volumes), §5.4 (overlap: buckets during backward, gathers during
 * forward, what is left over is waited for; the first gather and the last bucket always are).
 */
import type { Plan } from '../../schema/index.ts';
import { groupSeconds, placementOf, splitGroup, type Group, type Links, type PlanGroups } from '../network/index.ts';
import { splitOf } from '../split.ts';

/** A communication that may run beside compute: all of it, and what is waited for. */
export interface Hideable {
  totalSeconds: number;
  exposedSeconds: number;
  /** What of `exposedSeconds` every micro-batch waits for, for one micro-batch: it slows the rank's stage. */
  perMicroBatchSeconds: number;
  /** Bytes of the whole array per step. */
  bytes: number;
}

/** What is held by the rank that communicates, and what can hide it. */
export interface DataParallelLoad {
  /** Experts have ranks of their own. */
  isExperts: boolean;
  /** Trained parameters per rank before any sharding by ZeRO. */
  parameters: number;
  /** Parameters per rank that are held without training them: ZeRO-3 shards and gathers them too. */
  frozenParameters: number;
  layers: number;
  numMicroBatches: number;
  gradientBytes: number;
  weightBytes: number;
  /** Seconds of forward and backward of one micro-batch on that rank. */
  forwardSeconds: number;
  backwardSeconds: number;
}

export interface DataParallelCost {
  gradReduce: Hideable;
  paramGather: Hideable;
  /** Forward and backward of one micro-batch that still have nothing beside them. */
  freeForwardSeconds: number;
  freeBackwardSeconds: number;
  /** Ranks that share shards. */
  group: Group;
}

/** No communication. */
export const nothing: Hideable = { totalSeconds: 0, exposedSeconds: 0, perMicroBatchSeconds: 0, bytes: 0 };

/** What is waited for once per step, after or before the pipeline. */
export function onceSeconds({ exposedSeconds, perMicroBatchSeconds }: Hideable, numMicroBatches: number): number {
  return exposedSeconds - perMicroBatchSeconds * numMicroBatches;
}

/** Parameters per gradient bucket. Source: Megatron-LM, max(40e6, 1e6·dp) (MODEL §5.4). */
const bucketParameters = (replicas: number): number => Math.max(40e6, 1e6 * replicas);

interface Groups {
  replicas: number;
  /** Ranks over which states are sharded (all replicas in plain DP), and the ranks that hold the same shard. */
  shard: Group;
  copies: Group | null;
}

/** The sharding group inside the ranks that hold the same weights; without ZeRO all of them reduce together. */
function sharesOf(links: Links, plan: Plan, all: PlanGroups, isExperts: boolean): Groups {
  const replicas = isExperts ? all.edp : all.dpCp;
  const split = splitOf(plan);
  const size = isExperts ? split.expertShards : split.denseShards;
  if (plan.sharding.zeroStage === 0 || size >= replicas.size)
    return { replicas: replicas.size, shard: replicas, copies: null };
  // over dp alone each cp rank holds a copy
  if (!isExperts && plan.sharding.group === 'dp') return { replicas: replicas.size, shard: all.dp, copies: all.cp };
  const { shard, replica } = splitGroup(links.domainSize, replicas, size);
  return { replicas: replicas.size, shard, copies: replica };
}

/** Seconds of an array in buckets, and of one bucket. */
function bucketed(
  links: Links,
  op: 'allReduce' | 'reduceScatter' | 'allGather',
  group: Group,
  of: { bytes: number; numBuckets: number },
) {
  const bucket = groupSeconds(links, op, group, of.bytes / of.numBuckets);
  return { total: bucket * of.numBuckets, bucket };
}

/** A reduction, and what one pass of it takes. */
interface Reduce {
  cost: Hideable;
  onceSeconds: number;
  onceExposed: number;
}

/** A gather, and what it takes before a forward and before a backward. */
interface Gather {
  cost: Hideable;
  onceSeconds: number;
  forwardExposed: number;
  backwardSeconds: number;
  backwardExposed: number;
}

const noReduce: Reduce = { cost: nothing, onceSeconds: 0, onceExposed: 0 };
const noGather: Gather = {
  cost: nothing,
  onceSeconds: 0,
  forwardExposed: 0,
  backwardSeconds: 0,
  backwardExposed: 0,
};

/**
 * The copies of a shard are summed once per step, bucket by bucket behind the scatter of the last backward, on a stream of
 * their own; where the scatter leaves the domain too, both wait for the same NICs.
 * Source: Megatron-LM distributed_data_parallel (num_distributed_optimizer_instances); PyTorch FSDP, hybrid sharding.
 */
function sumOfCopies(
  links: Links,
  plan: Plan,
  { shard, copies }: Groups,
  of: { bytes: number; numBuckets: number; reduceSeconds: number; load: DataParallelLoad },
): { total: number; exposed: number } {
  if (copies === null) return { total: 0, exposed: 0 };
  const part = { bytes: of.bytes / shard.size, numBuckets: of.numBuckets };
  const { total, bucket } = bucketed(links, 'allReduce', copies, part);
  if (!plan.overlap.gradReduce) return { total, exposed: total };
  const before = placementOf(shard, links) === 'scale-out' ? of.reduceSeconds : 0;
  const free = Math.max(0, of.load.backwardSeconds - before);
  return { total, exposed: Math.max(total - free, bucket) };
}

function gradients(links: Links, plan: Plan, groups: Groups, load: DataParallelLoad): Reduce {
  const { zeroStage } = plan.sharding;
  if (groups.replicas <= 1 || load.parameters === 0) return noReduce;
  const bytes = load.parameters * load.gradientBytes;
  const perMicroBatch = zeroStage >= 2;
  const times = perMicroBatch ? load.numMicroBatches : 1;
  const numBuckets = !plan.overlap.gradReduce
    ? 1
    : zeroStage === 3
      ? Math.max(1, load.layers)
      : Math.max(1, Math.ceil(load.parameters / bucketParameters(groups.replicas)));
  const op = zeroStage === 0 ? 'allReduce' : 'reduceScatter';
  const { total, bucket } = bucketed(links, op, groups.shard, { bytes, numBuckets });
  const exposedOnce = plan.overlap.gradReduce ? Math.max(total - load.backwardSeconds, bucket) : total;
  const copies = sumOfCopies(links, plan, groups, { bytes, numBuckets, reduceSeconds: total, load });
  const cost = {
    totalSeconds: total * times + copies.total,
    exposedSeconds: exposedOnce * times + copies.exposed,
    perMicroBatchSeconds: perMicroBatch ? exposedOnce : 0,
    bytes: bytes * times,
  };
  return { cost, onceSeconds: total, onceExposed: exposedOnce };
}

function weights(links: Links, plan: Plan, groups: Groups, load: DataParallelLoad): Gather {
  const { zeroStage, reshardAfterForward } = plan.sharding;
  const gathered = load.parameters + (zeroStage === 3 ? load.frozenParameters : 0);
  if (groups.shard.size <= 1 || zeroStage === 0 || gathered === 0) return noGather;
  const bytes = gathered * load.weightBytes;
  if (zeroStage < 3) {
    const numBuckets = plan.overlap.paramGather
      ? Math.max(1, Math.ceil(load.parameters / bucketParameters(groups.replicas)))
      : 1;
    const { total, bucket } = bucketed(links, 'allGather', groups.shard, { bytes, numBuckets });
    const exposedSeconds = plan.overlap.paramGather ? Math.max(total - load.forwardSeconds, bucket) : total;
    const cost = { totalSeconds: total, exposedSeconds, perMicroBatchSeconds: 0, bytes };
    return { ...noGather, cost, onceSeconds: total, forwardExposed: exposedSeconds };
  }
  const { total, bucket } = bucketed(links, 'allGather', groups.shard, { bytes, numBuckets: Math.max(1, load.layers) });
  const wait = (hides: number) => (plan.overlap.paramGather ? Math.max(total - hides, bucket) : total);
  // weights that stay from forward to backward are gathered once per micro-batch, else twice
  const passes = reshardAfterForward ? 2 : 1;
  const forwardExposed = wait(load.forwardSeconds);
  const backwardExposed = reshardAfterForward ? wait(load.backwardSeconds) : 0;
  const perMicroBatchSeconds = forwardExposed + backwardExposed;
  const cost = {
    totalSeconds: total * passes * load.numMicroBatches,
    exposedSeconds: perMicroBatchSeconds * load.numMicroBatches,
    perMicroBatchSeconds,
    bytes: bytes * passes * load.numMicroBatches,
  };
  return {
    cost,
    onceSeconds: total,
    forwardExposed,
    backwardSeconds: reshardAfterForward ? total : 0,
    backwardExposed,
  };
}

/** Seconds of one pass that a communication of one micro-batch hides behind. */
const hiddenSeconds = (isOverlapped: boolean, once: number, exposed: number): number =>
  isOverlapped ? Math.max(0, once - exposed) : 0;

/**
 * Data-parallel communication of one rank's dense weights, or of its experts. All of it goes over the same links: what hides
 * behind a pass leaves less of the pass for the next.
 */
export function dataParallelCost(links: Links, plan: Plan, load: DataParallelLoad, all: PlanGroups): DataParallelCost {
  const groups = sharesOf(links, plan, all, load.isExperts);
  const { gradReduce: isReduceHidden, paramGather: isGatherHidden } = plan.overlap;
  const reduce = gradients(links, plan, groups, load);
  const afterReduce = load.backwardSeconds - hiddenSeconds(isReduceHidden, reduce.onceSeconds, reduce.onceExposed);
  const gather = weights(links, plan, groups, { ...load, backwardSeconds: afterReduce });
  return {
    gradReduce: reduce.cost,
    paramGather: gather.cost,
    freeForwardSeconds: load.forwardSeconds - hiddenSeconds(isGatherHidden, gather.onceSeconds, gather.forwardExposed),
    freeBackwardSeconds: afterReduce - hiddenSeconds(isGatherHidden, gather.backwardSeconds, gather.backwardExposed),
    group: groups.shard,
  };
}
