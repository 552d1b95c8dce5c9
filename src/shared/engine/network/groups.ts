/**
 * Groups of ranks that communicate, and how their members lie on scale-up domains, nodes and blocks of the network.
 *
 * Ranks are numbered in the plan's rank order, its first dimension fastest: `tp-cp-ep-dp-pp` is Megatron-LM's default.
 * Dense layers have a mesh of tp, cp, dp, pp; experts have one of etp, ep, edp, pp over the same ranks, in the same
 * order with etp in tp's place and edp in dp's. Source: Megatron-LM megatron/core/parallel_state.py (RankGenerator),
 * MODEL §5.5.
 */
import type { Plan } from '../../schema/index.ts';
import { greatestCommonDivisor } from '../divisors.ts';
import type { Problem } from '../problem.ts';

/** Members that lie `stride` ranks apart. */
export interface GroupDimension {
  size: number;
  stride: number;
}

/** A communicator: how many ranks, how many of them share one scale-up domain, and where they lie. */
export interface Group {
  size: number;
  ranksPerDomain: number;
  /** Smallest stride first; more than one where the members are not evenly spaced. */
  dimensions: readonly GroupDimension[];
  /** Length of the aligned block of ranks that the group lies in, the ranks between its members included. */
  span: number;
}

/** Ranks of one dimension inside an aligned block, at the worst place. */
function ranksAlong(block: number, { size, stride }: GroupDimension, span = size * stride): number {
  if (block % span === 0) return size;
  if (span < block) return Math.max(1, Math.floor(greatestCommonDivisor(span, block) / stride));
  return Math.min(size, Math.max(1, Math.floor(block / stride)));
}

/**
 * Members of a group inside one aligned block of ranks (a domain, a node, a pod), where fewest of them share one. A group
 * whose span divides the block lies inside; one that is smaller but does not divide it straddles two in places, with
 * gcd(span, block) of its ranks on the smaller side: the slowest such group sets the pace.
 */
export function ranksWithin(block: number, { size, dimensions, span }: Omit<Group, 'ranksPerDomain'>): number {
  if (block % span === 0) return size;
  const [only] = dimensions;
  if (dimensions.length === 1 && only !== undefined) return ranksAlong(block, only, span);
  return dimensions.reduce((ranks, dimension) => ranks * ranksAlong(block, dimension), 1);
}

/** The group of `size` ranks that lie `stride` ranks apart, within an aligned block of `span` ranks. */
export function groupOf(domainSize: number, size: number, stride: number, span = size * stride): Group {
  const dimensions = [{ size, stride }];
  return { size, ranksPerDomain: ranksWithin(domainSize, { size, dimensions, span }), dimensions, span };
}

/** The group of several dimensions together, e.g. dp and cp; those of size 1 count for nothing. */
export function groupAcross(domainSize: number, all: readonly GroupDimension[]): Group {
  const dimensions = all.filter(({ size }) => size > 1).sort((a, b) => a.stride - b.stride);
  const merged: GroupDimension[] = [];
  for (const dimension of dimensions) {
    const last = merged.at(-1);
    if (last !== undefined && last.size * last.stride === dimension.stride) last.size *= dimension.size;
    else merged.push({ ...dimension });
  }
  const outermost = merged.at(-1);
  if (outermost === undefined) return groupOf(domainSize, 1, 1);
  const size = merged.reduce((product, dimension) => product * dimension.size, 1);
  const span = outermost.size * outermost.stride;
  return {
    size,
    ranksPerDomain: ranksWithin(domainSize, { size, dimensions: merged, span }),
    dimensions: merged,
    span,
  };
}

/** The innermost `size` members of a group, and as a second group those that hold the same part (hybrid sharding). */
export function splitGroup(domainSize: number, group: Group, size: number): { shard: Group; replica: Group } {
  const shard: GroupDimension[] = [];
  const replica: GroupDimension[] = [];
  let left = size;
  for (const { size: length, stride } of group.dimensions) {
    const inner = greatestCommonDivisor(left, length);
    shard.push({ size: inner, stride });
    replica.push({ size: length / inner, stride: stride * inner });
    left /= inner;
  }
  return { shard: groupAcross(domainSize, shard), replica: groupAcross(domainSize, replica) };
}

const rankDimensions = ['tp', 'cp', 'ep', 'dp', 'pp'] as const;
type RankDimension = (typeof rankDimensions)[number];

const isDimension = (text: string): text is RankDimension => (rankDimensions as readonly string[]).includes(text);

/** The dimensions of a rank order, fastest first; what it does not name follows at the end. null = not an order. */
export function parseRankOrder(text: string): readonly RankDimension[] | null {
  const named = text.toLowerCase().split('-');
  if (!named.every(isDimension) || new Set(named).size !== named.length) return null;
  return [...named, ...rankDimensions.filter((dimension) => !named.includes(dimension))];
}

function stridesOf(order: readonly RankDimension[], sizes: Readonly<Record<RankDimension, number>>) {
  const strides: Partial<Record<RankDimension, GroupDimension>> = {};
  let stride = 1;
  for (const dimension of order) {
    strides[dimension] = { size: sizes[dimension], stride };
    stride *= sizes[dimension];
  }
  return strides as Record<RankDimension, GroupDimension>;
}

/** Every communicator of a plan. */
export interface PlanGroups {
  tp: Group;
  cp: Group;
  dp: Group;
  /** dp and cp together: who reduces dense gradients. */
  dpCp: Group;
  ep: Group;
  etp: Group;
  /** etp and ep together: who exchanges tokens where experts are split both ways. */
  etpEp: Group;
  edp: Group;
  /** All stages of a pipeline. */
  pp: Group;
  /** First and last stage, which sum the gradients of a tied embedding. */
  embedding: Group;
}

const orders = new Map<string, readonly RankDimension[] | null>();

/** As `parseRankOrder`, remembered: searches ask for the same few. */
function orderOf(text: string): readonly RankDimension[] {
  if (!orders.has(text)) orders.set(text, parseRankOrder(text));
  const order = orders.get(text);
  if (order === null || order === undefined) throw new Error(`"${text}" is no rank order`);
  return order;
}

interface Known {
  plan: Plan;
  groups: PlanGroups;
}
/** The last plan's groups of each network: neighbours in a search mostly share their degrees. */
const known = new WeakMap<Problem['network'], Known>();

const isSameSplit = (a: Plan, b: Plan): boolean =>
  a === b ||
  (a.tp === b.tp &&
    a.cp === b.cp &&
    a.dp === b.dp &&
    a.pp === b.pp &&
    a.ep === b.ep &&
    a.etp === b.etp &&
    a.rankOrder === b.rankOrder);

/** The groups of a valid plan; throws on a rank order that is none. */
export function groupsOf({ network }: Problem, plan: Plan): PlanGroups {
  const last = known.get(network);
  if (last !== undefined && isSameSplit(last.plan, plan)) return last.groups;
  const groups = placedGroups(network.scaleUpDomainSize, plan);
  known.set(network, { plan, groups });
  return groups;
}

function placedGroups(domain: number, plan: Plan): PlanGroups {
  const order = orderOf(plan.rankOrder);
  const { tp, cp, dp, pp, ep, etp } = plan;
  const edp = (tp * cp * dp) / (ep * etp);
  const dense = stridesOf(order, { tp, cp, dp, pp, ep: 1 });
  const expert = stridesOf(order, { tp: etp, ep, dp: edp, pp, cp: 1 });
  const one = ({ size, stride }: GroupDimension) => groupOf(domain, size, stride);
  const { stride } = dense.pp;
  return {
    tp: one(dense.tp),
    cp: one(dense.cp),
    dp: one(dense.dp),
    dpCp: groupAcross(domain, [dense.dp, dense.cp]),
    ep: one(expert.ep),
    etp: one(expert.tp),
    etpEp: groupAcross(domain, [expert.tp, expert.ep]),
    edp: one(expert.dp),
    pp: one(dense.pp),
    embedding: pp === 1 ? groupOf(domain, 1, 1) : groupOf(domain, 2, stride * (pp - 1), stride * pp),
  };
}
