/**
 * What each rank of the pipeline holds: how many layers of each kind, and which ends of the model.
 * Virtual stage i lies on rank i mod pp; the V-shaped schedules, which run two chunks down and up again, put stage
 * 2·pp − 1 − i beside stage i. Source: Megatron-LM --pipeline-model-parallel-layout; MODEL §6.
 */
import type { Model, Plan } from '../schema/index.ts';
import { virtualStagesOf, type VirtualStage } from './layout.ts';
import { rankOfStage as rankOfPlacedStage, type Placement } from './pipeline/order.ts';
import { isPlannedSchedule, schedules } from './pipeline/schedules/index.ts';
import { countKinds, stackOf } from '../layer-stack.ts';
import { forEach, forLastPair } from './remember.ts';

/** The content of one rank, all its chunks together. */
export interface RankContent {
  /** Layers of each kind of the model's stack. */
  counts: number[];
  layers: number;
  hasEmbedding: boolean;
  hasHead: boolean;
  mtpLayers: number;
}

type PlanPart = Pick<Plan, 'layout' | 'pp' | 'vpp' | 'schedule'>;

/** The placement of a plan's stages; a schedule that is not planned runs around. */
function placementOf({ schedule }: Pick<Plan, 'schedule'>): Placement {
  return isPlannedSchedule(schedule.name) ? schedules[schedule.name].placement : 'around';
}

/** Virtual stages of an even split; null where the layers do not divide. */
function evenStages(model: Model, numStages: number): VirtualStage[] | null {
  const layers = model.numLayers / numStages;
  if (!Number.isInteger(layers)) return null;
  return Array.from({ length: numStages }, (_, stage) => ({
    layers,
    hasEmbedding: stage === 0,
    hasHead: stage === numStages - 1,
    mtpLayers: stage === numStages - 1 ? model.mtpLayers : 0,
  }));
}

/** The rank that virtual stage `stage` lies on. */
export function rankOfStage(stage: number, plan: PlanPart): number {
  return rankOfPlacedStage(placementOf(plan), plan.pp, stage);
}

function build(model: Model, plan: PlanPart): RankContent[] | null {
  const numStages = plan.pp * plan.vpp;
  const stages = plan.layout === null ? evenStages(model, numStages) : virtualStagesOf(plan.layout);
  if (stages === null || stages.length !== numStages) return null;
  const total = (of: (stage: VirtualStage) => number) => stages.reduce((sum, stage) => sum + of(stage), 0);
  if (total((stage) => stage.layers) !== model.numLayers) return null;
  if (total((stage) => stage.mtpLayers) !== model.mtpLayers) return null;
  const stack = stackOf(model);
  const ranks = Array.from({ length: plan.pp }, (): RankContent => {
    return { counts: stack.kinds.map(() => 0), layers: 0, hasEmbedding: false, hasHead: false, mtpLayers: 0 };
  });
  let layer = 0;
  stages.forEach((stage, index) => {
    const rank = ranks[rankOfStage(index, plan)];
    if (rank === undefined) return;
    const added = countKinds(stack, layer, layer + stage.layers);
    rank.counts = rank.counts.map((count, kind) => count + (added[kind] ?? 0));
    layer += stage.layers;
    rank.layers += stage.layers;
    rank.hasEmbedding ||= stage.hasEmbedding;
    rank.hasHead ||= stage.hasHead;
    rank.mtpLayers += stage.mtpLayers;
  });
  return ranks;
}

const known = new WeakMap<Model, Map<string, RankContent[] | null>>();

/**
 * The content of each rank of a plan, in order of the pipeline; null where its layers do not divide or its layout does
 * not hold the model's layers in pp·vpp stages. Remembered per model.
 */
export const ranksOf = forLastPair((model: Model, plan: PlanPart): RankContent[] | null => {
  let ofModel = known.get(model);
  if (ofModel === undefined) known.set(model, (ofModel = new Map<string, RankContent[] | null>()));
  const layout = typeof plan.layout === 'string' ? plan.layout : JSON.stringify(plan.layout);
  const key = `${plan.pp}/${plan.vpp}/${placementOf(plan)}/${layout}`;
  let ranks = ofModel.get(key);
  if (ranks === undefined) ofModel.set(key, (ranks = build(model, plan)));
  return ranks;
});

const merged = new WeakMap<RankContent[], RankContent[]>();

/**
 * What lies in the memory of each rank: as {@link ranksOf}, but under a schedule that runs two copies of the model from
 * both ends (DualPipe) a rank also holds the stage of its mirrored rank.
 */
export function residentRanksOf(model: Model, plan: PlanPart): RankContent[] | null {
  const ranks = ranksOf(model, plan);
  const copies = isPlannedSchedule(plan.schedule.name) ? schedules[plan.schedule.name].modelCopies : 1;
  if (ranks === null || copies === 1) return ranks;
  let both = merged.get(ranks);
  if (both === undefined) merged.set(ranks, (both = ranks.map((rank, index) => together(rank, ranks.at(-1 - index)))));
  return both;
}

function together(one: RankContent, other: RankContent = one): RankContent {
  return {
    counts: one.counts.map((count, kind) => count + (other.counts[kind] ?? 0)),
    layers: one.layers + other.layers,
    hasEmbedding: one.hasEmbedding || other.hasEmbedding,
    hasHead: one.hasHead || other.hasHead,
    mtpLayers: one.mtpLayers + other.mtpLayers,
  };
}

/** The distinct contents of a pipeline's ranks, and which of them each rank has. */
export interface DistinctRanks {
  contents: RankContent[];
  contentOf: number[];
}

/** Few ranks differ: the ends, and where layers of several kinds or an uneven layout fall. Remembered per list of ranks. */
export const distinctRanks = forEach((ranks: readonly RankContent[]): DistinctRanks => {
  const indexOf = new Map<string, number>();
  const found: DistinctRanks = { contents: [], contentOf: [] };
  for (const rank of ranks) {
    const { counts, hasEmbedding, hasHead, mtpLayers } = rank;
    const key = `${counts.join(' ')} ${hasEmbedding ? 'E' : ''}${hasHead ? 'L' : ''}${mtpLayers}`;
    const index = indexOf.get(key) ?? found.contents.push(rank) - 1;
    indexOf.set(key, index);
    found.contentOf.push(index);
  }
  return found;
});
