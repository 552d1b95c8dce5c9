/** Choices of a plan beside its degrees: what each is, its values, and why one would take them, in plain words. */
import type { Plan } from '#shared/schema/index.ts';
import type { PatchValue } from './plan-patch.ts';

export interface PlanChoice {
  path: string;
  label: string;
  options: readonly { value: string | number; label: string; why: string }[];
  value(plan: Plan): string | number;
  isShown(plan: Plan): boolean;
}

const option = (value: string | number, label: string, why: string) => ({ value, label, why });

const schedules = [
  option('1f1b', '1F1B', 'A forward, then a backward, in turn: few micro-batches in flight.'),
  option(
    'interleaved-1f1b',
    '1F1B interleaved',
    'Several pieces of the model per stage (VPP): a smaller bubble, more sends.',
  ),
  option('gpipe', 'GPipe', 'All forwards, then all backwards: simple, but every micro-batch is in flight.'),
  option(
    'interleaved-bfs',
    'Breadth-first',
    'All micro-batches of a piece before the next one: fewer gathers of sharded weights.',
  ),
  option('zb-h1', 'ZB-H1', 'Weight gradients wait and fill the bubble; memory stays that of 1F1B.'),
  option('zb-h2', 'ZB-H2', 'As ZB-H1 with more in flight: hardly a bubble, nearly twice the activations.'),
  option('zb-v', 'ZB-V', 'Two pieces per stage in a V: hardly a bubble at the memory of 1F1B. Needs VPP 2.'),
  option('v-half', 'V-Half', 'In a V with half the activations of 1F1B. Needs VPP 2.'),
  option('v-min', 'V-Min', 'In a V with a third of the activations of 1F1B, and a bubble like its. Needs VPP 2.'),
  option(
    'dualpipe',
    'DualPipe',
    'Two copies run from both ends and hide the exchange with experts; holds weights twice.',
  ),
  option('dualpipe-v', 'DualPipe-V', 'DualPipe cut in half: one copy in a V. Needs VPP 2.'),
  option(
    'pipedream-2bw',
    'PipeDream-2BW',
    'Never drains: no bubble, but gradients are one step old and weights are held twice.',
  ),
];

const contextMethods = [
  option('ring', 'Ring', 'Keys and values go round while attention computes: least memory, mostly hidden.'),
  option('all-gather', 'All-gather', 'Keys and values are gathered at once: simple, and more memory.'),
  option('ulysses', 'Ulysses', 'Tokens are swapped for heads: little traffic, but CP must divide the heads.'),
  option('hierarchical', 'Hierarchical', 'Ulysses inside a node, a ring between nodes.'),
];

const shares = (what: string) => [
  option(0, 'Nothing', `${what} stay on the accelerator.`),
  option(0.5, 'Half', `Half of the ${what.toLowerCase()} in host memory.`),
  option(1, 'All', `All in host memory: room on the accelerator, but they cross the host link every step.`),
];

const onOff = (on: string, off: string) => [option('true', 'On', on), option('false', 'Off', off)];

const text = (value: boolean) => String(value);

export const planChoices: readonly PlanChoice[] = [
  {
    path: 'schedule.name',
    label: 'Schedule',
    options: schedules,
    value: ({ schedule }) => schedule.name,
    isShown: ({ pp }) => pp > 1,
  },
  {
    path: 'cpMethod',
    label: 'Context parallel by',
    options: contextMethods,
    value: ({ cpMethod }) => cpMethod,
    isShown: ({ cp }) => cp > 1,
  },
  {
    path: 'offload.optimizer',
    label: 'Optimizer on the host',
    options: shares('Optimizer states'),
    value: ({ offload }) => offload.optimizer,
    isShown: () => true,
  },
  {
    path: 'offload.activations',
    label: 'Activations on the host',
    options: shares('Activations'),
    value: ({ offload }) => offload.activations,
    isShown: () => true,
  },
  {
    path: 'overlap.tp',
    label: 'Hide TP communication',
    options: onOff('Runs in pieces beside its matmul, which slows down a little.', 'Every layer waits for it.'),
    value: ({ overlap }) => text(overlap.tp),
    isShown: ({ tp }) => tp > 1,
  },
  {
    path: 'overlap.gradReduce',
    label: 'Hide gradient reduction',
    options: onOff('Gradients are reduced while backward goes on.', 'They are reduced after the last backward.'),
    value: ({ overlap }) => text(overlap.gradReduce),
    isShown: ({ dp, cp }) => dp * cp > 1,
  },
  {
    path: 'overlap.expert',
    label: 'Hide expert exchange',
    options: onOff('Tokens travel while another micro-batch computes.', 'Layers with experts wait for their tokens.'),
    value: ({ overlap }) => text(overlap.expert),
    isShown: ({ ep }) => ep > 1,
  },
  {
    path: 'runtime.cudaGraphs',
    label: 'CUDA graphs',
    options: [
      option('none', 'None', 'The host starts every kernel: small layers wait for it.'),
      option('per-layer', 'Per layer', 'A layer’s kernels start at once.'),
      option('full', 'Whole step', 'All kernels of a step start at once; needs static shapes.'),
    ],
    value: ({ runtime }) => runtime.cudaGraphs,
    isShown: () => true,
  },
  {
    path: 'runtime.expandableSegments',
    label: 'Expandable segments',
    options: onOff(
      'The allocator grows its blocks: about 1 % is lost between them.',
      'About 5 % is lost between blocks.',
    ),
    value: ({ runtime }) => text(runtime.expandableSegments),
    isShown: () => true,
  },
];

/** A choice's value as a patch takes it. */
export function patchValueOf(value: string | number): PatchValue {
  if (value === 'true' || value === 'false') return value === 'true';
  return value;
}

/** What selective recomputation can throw away and compute again. */
export const recomputeChoices: readonly {
  module: Plan['recompute']['modules'][number];
  label: string;
  why: string;
}[] = [
  {
    module: 'core-attention',
    label: 'Attention scores',
    why: 'Large where attention is unfused, and cheap to repeat.',
  },
  { module: 'mlp', label: 'Feed-forward', why: 'Saves the widest tensors; repeats two thirds of a layer’s work.' },
  { module: 'norms', label: 'Norms', why: 'Their outputs: little memory, hardly any time.' },
  {
    module: 'moe-activation',
    label: 'Expert activation',
    why: 'Between an expert’s two matmuls: much memory, little time.',
  },
  { module: 'moe', label: 'Whole experts', why: 'All of the expert part, its exchange included.' },
  { module: 'mla-up-projection', label: 'MLA up-projection', why: 'Queries and keys from their latents again.' },
  { module: 'shared-experts', label: 'Shared experts', why: 'The experts that every token passes.' },
];
