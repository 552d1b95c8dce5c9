/**
 * Which stage holds which layers.
 *
 * An even split gives every virtual stage the same number of layers. Where the layers do not divide, embedding and head
 * can count as one layer each (Megatron-LM's account-for-embedding/loss-in-pipeline-split; Llama 3 was trained so): the
 * first and the last virtual stage then hold one layer less. A layout is written in Megatron's notation: `E` embedding,
 * `t` layer, `L` head and loss, `|` between virtual stages, `x*n` and `(…)*n` for repetition; virtual stage i lies on
 * rank i mod pp. Source: Megatron-LM --pipeline-model-parallel-layout; MODEL §6.2.
 */
import type { Plan } from '../schema/index.ts';

/** Layers of the first, of every middle and of the last rank (all their chunks). */
export interface RankLayers {
  first: number;
  middle: number;
  last: number;
}

const LONGEST_TEXT = 4000;
const LONGEST_LAYOUT = 100_000;

/** As many repetitions as a layout may have; beyond that one too many, so that its length gives it away. */
function repeated(unit: string, times: string): string {
  return unit.repeat(Math.min(Number(times), Math.ceil((LONGEST_LAYOUT + 1) / Math.max(1, unit.length))));
}

/** `(tt|)*3` → `tt|tt|tt|`; null where brackets or counts are wrong or the text grows beyond reason. */
function expand(text: string): string | null {
  if (text.length > LONGEST_TEXT) return null;
  let expanded = text.replace(/\s/g, '');
  for (let depth = 0; depth < 8; depth++) {
    const next = expanded
      .replace(/\(([^()]*)\)\*(\d+)/g, (_, inner: string, times: string) => repeated(inner, times))
      .replace(/([EtmL])\*(\d+)/g, (_, unit: string, times: string) => repeated(unit, times));
    if (next.length > LONGEST_LAYOUT) return null;
    if (next === expanded) break;
    expanded = next;
  }
  return /^[EtmL|]*$/.test(expanded) ? expanded : null;
}

/** Layers of each virtual stage of a layout, in order; null where the text is not a layout of a plain decoder (no `m`). */
export function layersPerVirtualStage(layout: string): number[] | null {
  const expanded = expand(layout);
  if (expanded === null || !/^E[t|]*L$/.test(expanded)) return null;
  return expanded.split('|').map((stage) => stage.replace(/[EL]/g, '').length);
}

/** The layout of `numLayers` layers with embedding and head counted as one layer each; null where that does not divide. */
export function balancedLayout(numLayers: number, pp: number, vpp: number): string | null {
  const numStages = pp * vpp;
  const perStage = (numLayers + 2) / numStages;
  if (numStages < 2 || !Number.isInteger(perStage)) return null;
  const layers = (count: number) => (count === 0 ? '' : count === 1 ? 't' : `t*${count}`);
  const middle = numStages > 2 ? `(${layers(perStage)}|)*${numStages - 2}` : '';
  return `E${layers(perStage - 1)}|${middle}${layers(perStage - 1)}L`;
}

/** The layout that the search plans with: null for even, a text for balanced ends, undefined where neither divides. */
export function layoutFor(numLayers: number, pp: number, vpp: number): string | null | undefined {
  if (numLayers % (pp * vpp) === 0) return null;
  return balancedLayout(numLayers, pp, vpp) ?? undefined;
}

/**
 * Layers per rank of a plan; null where its layout has the wrong number of stages or layers, or middle ranks that differ
 * from one another (which this version does not plan).
 */
export function rankLayersOf(numLayers: number, plan: Pick<Plan, 'layout' | 'pp' | 'vpp'>): RankLayers | null {
  const { layout, pp, vpp } = plan;
  if (layout === null) {
    const layers = numLayers / pp;
    return Number.isInteger(layers) ? { first: layers, middle: layers, last: layers } : null;
  }
  if (typeof layout !== 'string') return null;
  return readRanks(layout, numLayers, pp, vpp);
}

function readRanks(layout: string, numLayers: number, pp: number, vpp: number): RankLayers | null {
  const stages = layersPerVirtualStage(layout);
  if (stages === null || stages.length !== pp * vpp) return null;
  if (stages.reduce((sum, layers) => sum + layers, 0) !== numLayers) return null;
  const ranks = Array.from({ length: pp }, (_, rank) => {
    let layers = 0;
    for (let stage = rank; stage < stages.length; stage += pp) layers += stages[stage] ?? 0;
    return layers;
  });
  const first = ranks[0] ?? 0;
  const last = ranks[pp - 1] ?? 0;
  const middle = ranks[1] ?? first;
  if (ranks.slice(1, -1).some((layers) => layers !== middle)) return null;
  return { first, middle: pp > 2 ? middle : Math.max(first, last), last };
}
