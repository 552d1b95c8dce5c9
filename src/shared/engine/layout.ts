/**
 * Which stage holds which layers.
 *
 * An even split gives every virtual stage the same number of layers. Where the layers do not divide, embedding and head
 * can count as one layer each (Megatron-LM's account-for-embedding/loss-in-pipeline-split; Llama 3 was trained so): the
 * first and the last virtual stage then hold one layer less. A layout is written in Megatron's notation: `E` embedding,
 * `t` layer, `m` multi-token prediction, `L` head and loss, `|` between virtual stages, `x*n` and `(…)*n` for repetition; virtual stage i lies on
 * rank i mod pp. Source: Megatron-LM --pipeline-model-parallel-layout; MODEL §6.2.
 */
/** What one virtual stage holds. */
export interface VirtualStage {
  layers: number;
  hasEmbedding: boolean;
  hasHead: boolean;
  /** Multi-token-prediction layers. */
  mtpLayers: number;
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

const units = { embedding: 'E', decoder: 't', mtp: 'm', loss: 'L' } as const;

/** Megatron's list form, `[["embedding", "decoder"], …]`, as letters; null where a name is unknown. */
function lettersOf(layout: readonly (readonly string[])[]): string | null {
  const stages = layout.map((stage) =>
    stage.map((unit) => (Object.hasOwn(units, unit) ? units[unit as keyof typeof units] : 'x')).join(''),
  );
  const text = stages.join('|');
  return text.includes('x') || text.length > LONGEST_LAYOUT ? null : text;
}

/**
 * The virtual stages of a layout, in order; null where it is none: the embedding must be first, the loss last and
 * multi-token prediction between the last layer and the loss.
 */
export function virtualStagesOf(layout: string | readonly (readonly string[])[]): VirtualStage[] | null {
  const letters = typeof layout === 'string' ? expand(layout) : lettersOf(layout);
  if (letters === null || !/^E[t|]*[m|]*L$/.test(letters)) return null;
  const count = (text: string, letter: string) => text.split(letter).length - 1;
  return letters.split('|').map((stage) => ({
    layers: count(stage, 't'),
    hasEmbedding: stage.includes('E'),
    hasHead: stage.includes('L'),
    mtpLayers: count(stage, 'm'),
  }));
}

/** Layers of each virtual stage of a layout, in order; null where the text is none. */
export function layersPerVirtualStage(layout: string): number[] | null {
  return virtualStagesOf(layout)?.map(({ layers }) => layers) ?? null;
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

/** Megatron's text for stages of these many layers, with `mtpLayers` of multi-token prediction before the loss. */
function layoutText(layers: readonly number[], mtpLayers: number): string {
  const stages = layers.map((count) => (count === 0 ? '' : count === 1 ? 't' : `t*${count}`));
  return `E${stages.join('|')}${'m'.repeat(mtpLayers)}L`;
}

/**
 * The layout of a framework that deals layers out by itself: embedding and head counted as a layer each where that comes
 * out even, else as evenly as it goes, with the longer stages first (torchtitan distributed/pipeline_parallel.py,
 * DeepSpeed runtime/pipe/module.py). null where the layers divide anyway or do not fill the stages.
 */
export function spreadLayout(numLayers: number, numStages: number): string | null {
  if (numLayers % numStages === 0 || numLayers < numStages) return null;
  const balanced = balancedLayout(numLayers, numStages, 1);
  if (balanced !== null) return balanced;
  const [least, longer] = [Math.floor(numLayers / numStages), numLayers % numStages];
  return layoutText(
    Array.from({ length: numStages }, (_, stage) => least + Number(stage < longer)),
    0,
  );
}

/**
 * The layout that recipes give to layers that do not divide: embedding and head as a layer each where that comes out even,
 * else every stage full but the last ones, which leave room for multi-token prediction and the loss (Megatron-Bridge,
 * recipes of DeepSeek-V3 and Kimi-K2). null where the layers divide anyway.
 */
export function recipeLayout(numLayers: number, mtpLayers: number, numStages: number): string | null {
  if (numLayers % numStages === 0 || numStages < 2) return null;
  const balanced = mtpLayers === 0 ? balancedLayout(numLayers, numStages, 1) : null;
  if (balanced !== null) return balanced;
  const full = Math.ceil(numLayers / numStages);
  return layoutText(
    Array.from({ length: numStages }, (_, stage) => Math.max(0, Math.min(full, numLayers - stage * full))),
    mtpLayers,
  );
}

/** The layout that the search plans with: null for even, a text for balanced ends, undefined where neither divides. */
export function layoutFor(numLayers: number, pp: number, vpp: number): string | null | undefined {
  if (numLayers % (pp * vpp) === 0) return null;
  return balancedLayout(numLayers, pp, vpp) ?? undefined;
}
