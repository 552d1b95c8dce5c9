/** The field's terms as people say them: plans in one line, verdicts, schedules, and the glossary behind tooltips. */
import { formatBytes, formatDays, formatMoney, formatPercent } from '#shared/units.ts';
import type { Plan, PlanSummary, Verdict } from '#shared/schema/index.ts';

type ScheduleName = Plan['schedule']['name'];

const scheduleNames: Readonly<Record<ScheduleName, string>> = {
  gpipe: 'GPipe',
  '1f1b': '1F1B',
  'interleaved-1f1b': '1F1B interleaved',
  'interleaved-bfs': 'breadth-first interleaved',
  'pipedream-2bw': 'PipeDream-2BW',
  'zb-h1': 'ZB-H1',
  'zb-h2': 'ZB-H2',
  'zb-v': 'ZB-V',
  'v-half': 'V-Half',
  'v-min': 'V-Min',
  dualpipe: 'DualPipe',
  'dualpipe-v': 'DualPipe-V',
  custom: 'custom',
};

export function scheduleWords({ pp, vpp, schedule }: Pick<Plan, 'pp' | 'vpp' | 'schedule'>): string {
  if (pp === 1) return 'no pipeline';
  const name = scheduleNames[schedule.name];
  return vpp > 1 ? `${name} ${vpp}` : name;
}

/** "TP 8 · PP 64 · DP 6"; degrees of 1 that nobody would miss are left out. */
export function splitWords({ tp, pp, cp, dp, ep, etp }: Pick<Plan, 'tp' | 'pp' | 'cp' | 'dp' | 'ep' | 'etp'>): string {
  const parts = [`TP ${tp}`, `PP ${pp}`, `DP ${dp}`];
  if (cp > 1) parts.splice(2, 0, `CP ${cp}`);
  if (ep > 1) parts.push(`EP ${ep}`);
  if (etp > 1) parts.push(`ETP ${etp}`);
  return parts.join(' · ');
}

export function recomputeWords({ mode, layersPerStage, modules }: Plan['recompute']): string {
  if (mode === 'none') return 'none';
  if (mode === 'full') return layersPerStage === null ? 'full' : `full, ${layersPerStage} layers`;
  return modules.length === 0 || modules.join() === 'core-attention'
    ? 'selective'
    : `selective (${modules.join(', ')})`;
}

/** A layout of its own, as the framework writes it; null where the layers are spread evenly. */
export function layoutWords({ layout }: Pick<Plan, 'layout'>): string | null {
  if (layout === null) return null;
  return typeof layout === 'string' ? layout : layout.map((stage) => stage.join('')).join('|');
}

/** All that tells two plans of one search apart, on one line. */
export function planWords(plan: Plan): string {
  const recompute = plan.recompute.mode === 'none' ? 'no recompute' : `${recomputeWords(plan.recompute)} recompute`;
  const layout = layoutWords(plan);
  const parts = [splitWords(plan), scheduleWords(plan), `micro-batch ${plan.microBatchSize}`, recompute];
  return [...parts, ...(layout === null ? [] : [`layout ${layout}`])].join(', ');
}

/** "46 % MFU, 71 GiB of 79, 84 days, $4.1M": what a plan gives, in the order in which people ask. */
export function outcomeWords(
  plan: Pick<PlanSummary, 'mfu' | 'peakMemoryBytes' | 'days' | 'cost'>,
  { usableMemoryBytes, currency }: { usableMemoryBytes: number | null; currency: string | null },
): string {
  const memory = formatBytes(plan.peakMemoryBytes);
  return [
    `${formatPercent(plan.mfu)} MFU`,
    usableMemoryBytes === null ? memory : `${memory} of ${formatBytes(usableMemoryBytes)}`,
    ...(plan.days === null ? [] : [formatDays(plan.days)]),
    ...(plan.cost === null || currency === null ? [] : [formatMoney(plan.cost, currency)]),
  ].join(', ');
}

export const verdictWords: Readonly<Record<Verdict, { label: string; tone: 'ok' | 'warn' | 'danger'; why: string }>> = {
  fits: {
    label: 'Fits',
    tone: 'ok',
    why: 'More memory stays free than the headroom asked for.',
  },
  'at-risk': {
    label: 'At risk',
    tone: 'warn',
    why: 'It fits, but less memory stays free than the headroom asked for: a longer sequence or fragmentation may end the run.',
  },
  'out-of-memory': { label: 'Out of memory', tone: 'danger', why: 'It needs more memory than a process can allocate.' },
};

export const glossary = {
  TP: 'Tensor parallelism: each layer’s matrices are cut over this many accelerators, which talk in every layer.',
  PP: 'Pipeline parallelism: the layers are cut into this many stages, which pass activations on.',
  DP: 'Data parallelism: this many copies work on different sequences and add up their gradients.',
  CP: 'Context parallelism: each sequence is cut over this many accelerators.',
  VPP: 'Virtual pipeline stages per accelerator: more of them shrink the bubble and add communication.',
  MFU: 'Model FLOPs utilization: the model’s own FLOPs, without recomputation, over what the accelerators could do at their dense peak.',
  HFU: 'Hardware FLOPs utilization: as MFU, but recomputed FLOPs count as well.',
  'micro-batch': 'Sequences that one data-parallel copy works on at a time.',
  recompute: 'Activations that are thrown away and computed again in the backward pass: less memory, more time.',
  bubble: 'Time in which a pipeline stage waits for its neighbours, as a share of the pipeline’s time.',
  ZeRO: 'What is cut over the data-parallel copies: 1 = optimizer states, 2 = gradients as well, 3 = weights as well.',
  schedule: 'The order in which pipeline stages work on forward and backward passes of the micro-batches.',
  headroom: 'Share of usable memory that has to stay free for a plan to count as fitting.',
  frontier: 'Plans for which no other plan is both faster and smaller.',
} as const;
export type GlossaryWord = keyof typeof glossary;

const pathNames: Readonly<Record<string, string>> = {
  tp: 'TP',
  pp: 'PP',
  cp: 'CP',
  dp: 'DP',
  vpp: 'VPP',
  microBatchSize: 'Micro-batch',
  sequenceParallel: 'Sequence parallel',
  'recompute.mode': 'Recompute',
  'sharding.zeroStage': 'ZeRO stage',
  'schedule.name': 'Schedule',
};

/** What a plan's field is called on the page; a rare one keeps its path. */
export function pathWords(path: string): string {
  return pathNames[path] ?? path;
}

export function valueWords(value: number | string | boolean): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'number' ? value.toLocaleString('en-US') : value;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const ruleNames: Readonly<Record<string, string>> = {
  memory: 'Needs more memory than there is, by a lower bound',
  'out-of-memory': 'Out of memory',
  'memory-headroom': 'Leaves less memory free than asked for',
  'min-mfu': 'Slower than the least MFU asked for',
  'world-size': 'TP · PP · CP · DP is not the number of accelerators',
  'degrees-divide-cluster': 'TP · PP · CP does not divide the number of accelerators',
  'heads-divide-tp': 'Attention heads do not divide over TP',
  'kv-heads-divide-tp': 'Key/value heads do not divide over TP',
  'ffn-divides-tp': 'The feed-forward width does not divide over TP',
  'sequence-divides-tp': 'The sequence does not divide over TP',
  'sequence-parallel-needs-tp': 'Sequence parallelism needs TP above 1',
  'layers-divide-pp': 'Layers do not divide over PP',
  'layers-divide-vpp': 'Layers of a stage do not divide over VPP',
  'interleaving-needs-pipeline': 'Interleaving needs a pipeline',
  'interleaving-divides-batch': 'Interleaving needs micro-batches in multiples of PP',
  'schedule-needs-micro-batches': 'The schedule needs more micro-batches',
  'schedule-needs-even-pp': 'The schedule needs an even PP',
  'schedule-group-size': 'Micro-batch group size out of range',
  'schedule-fits-vpp': 'The schedule does not go with this VPP',
  'batch-divides': 'The global batch does not divide over DP and micro-batch',
  'layout-fits': 'The layer layout does not fit',
  'not-modelled': 'Not planned by this version',
};

/** Why plans were ruled out, in words; a rule that is new here shows its id. */
export function ruleWords(rule: string): string {
  return ruleNames[rule] ?? capital(rule.replaceAll('-', ' '));
}
