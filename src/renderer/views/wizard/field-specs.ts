/** The fields of the wizard's steps, and where each is. */
import { choices, type FieldGroup } from './field-types.ts';
import { modelGroups } from './model-fields.ts';

export const clusterGroups: readonly FieldGroup[] = [
  {
    title: 'Accelerators',
    fields: [
      { path: 'cluster.numAccelerators', kind: 'count', label: 'Accelerators', help: 'In all. Whole nodes.' },
      { path: 'cluster.acceleratorsPerNode', kind: 'count', label: 'Per node' },
    ],
  },
  {
    title: 'Scale-up links (NVLink and its like)',
    fields: [
      {
        path: 'cluster.scaleUp.domainSize',
        kind: 'count',
        label: 'Domain size',
        unit: 'accelerators',
        help: 'How many reach each other over these links.',
      },
      {
        path: 'cluster.scaleUp.bandwidthGBps',
        kind: 'number',
        label: 'Bandwidth',
        unit: 'GB/s',
        help: 'Per accelerator and direction.',
      },
      {
        path: 'cluster.scaleUp.kind',
        kind: 'choice',
        label: 'Wiring',
        choices: choices(
          ['switched', 'Switched (NVSwitch)'],
          ['ring', 'Ring'],
          ['torus', 'Torus'],
          ['pairwise', 'Pairs only'],
        ),
      },
    ],
  },
  {
    title: 'Scale-out network',
    fields: [
      {
        path: 'cluster.scaleOut.nicsPerAccelerator',
        kind: 'number',
        label: 'NICs per accelerator',
        help: 'One half when two share one.',
      },
      {
        path: 'cluster.scaleOut.bandwidthGbps',
        kind: 'number',
        label: 'Bandwidth per NIC',
        unit: 'Gb/s',
        help: 'Per direction, in gigabits.',
      },
      { path: 'cluster.scaleOut.latencyUs', kind: 'number', label: 'Latency', unit: 'µs' },
      {
        path: 'cluster.scaleOut.oversubscription',
        kind: 'number',
        label: 'Oversubscription',
        unit: ': 1',
        help: '1 is full bisection; 2 halves what crosses the fabric.',
      },
      {
        path: 'cluster.scaleOut.inNetworkReduction',
        kind: 'toggle',
        label: 'Reduction in the switches',
        help: 'SHARP and its like.',
      },
    ],
  },
  {
    title: 'Price',
    optional: {
      path: 'cluster.price',
      label: 'Count what it costs',
      help: 'Without a price, plans have no cost.',
      initial: { currency: 'USD', perAcceleratorHour: 2, source: 'user', date: null },
    },
    fields: [
      { path: 'cluster.price.perAcceleratorHour', kind: 'number', label: 'Price', unit: 'per accelerator-hour' },
      { path: 'cluster.price.currency', kind: 'text', label: 'Currency', help: 'Three letters, e.g. USD or EUR.' },
      { path: 'cluster.price.source', kind: 'text', label: 'Where the price comes from' },
      { path: 'cluster.price.date', kind: 'text', nullable: true, label: 'As of', help: 'Date of the price.' },
    ],
  },
  {
    title: 'Host',
    isFolded: true,
    optional: {
      path: 'cluster.host',
      label: 'Host memory is known',
      help: 'Needed for offloading, by later versions.',
      initial: { memoryGiB: 2048, linkGBps: 64 },
    },
    fields: [
      { path: 'cluster.host.memoryGiB', kind: 'number', label: 'Memory per node', unit: 'GiB' },
      { path: 'cluster.host.linkGBps', kind: 'number', label: 'Link per accelerator', unit: 'GB/s' },
    ],
  },
  {
    title: 'Storage',
    isFolded: true,
    optional: {
      path: 'cluster.storage',
      label: 'Storage is known',
      help: 'Needed for checkpoints, by later versions.',
      initial: { readGBps: 100, writeGBps: 100 },
    },
    fields: [
      { path: 'cluster.storage.readGBps', kind: 'number', label: 'Read', unit: 'GB/s' },
      { path: 'cluster.storage.writeGBps', kind: 'number', label: 'Write', unit: 'GB/s' },
    ],
  },
];

export const jobGroups: readonly FieldGroup[] = [
  {
    title: 'Batch and length',
    fields: [
      { path: 'job.globalBatchSize', kind: 'count', label: 'Global batch', unit: 'sequences' },
      { path: 'job.seqLen', kind: 'count', label: 'Sequence length', unit: 'tokens' },
      {
        path: 'job.tokens',
        kind: 'count',
        nullable: true,
        label: 'Tokens, whole run',
        help: 'E.g. 450B or 15.6T. Left empty, plans have no days and no cost.',
      },
      {
        path: 'job.task',
        kind: 'choice',
        label: 'Task',
        choices: choices(['pretrain', 'Pre-training'], ['sft', 'Fine-tuning of all weights'], ['lora', 'LoRA (later)']),
      },
    ],
  },
  {
    title: 'Precision',
    fields: [
      {
        path: 'job.precision.compute',
        kind: 'choice',
        label: 'Matrix multiplications',
        choices: choices(['bf16', 'BF16'], ['fp16', 'FP16'], ['fp8', 'FP8 (later)'], ['fp32', 'FP32 (later)']),
      },
      {
        path: 'job.precision.weights',
        kind: 'choice',
        label: 'Weights',
        choices: choices(['bf16', 'BF16'], ['fp16', 'FP16'], ['fp32', 'FP32']),
      },
      {
        path: 'job.precision.gradients',
        kind: 'choice',
        label: 'Gradients',
        choices: choices(['fp32', 'FP32'], ['bf16', 'BF16'], ['fp16', 'FP16']),
      },
      {
        path: 'job.precision.optimizer',
        kind: 'choice',
        label: 'Optimizer',
        choices: choices(['adam-fp32', 'Adam, FP32 states']),
      },
    ],
  },
  {
    title: 'Framework',
    fields: [
      {
        path: 'job.framework.family',
        kind: 'choice',
        label: 'Framework',
        choices: choices(['megatron-lm', 'Megatron-LM']),
        help: 'Its rules and defaults hold for every plan.',
      },
      {
        path: 'job.framework.version',
        kind: 'text',
        nullable: true,
        label: 'Version',
        help: 'As its releases call themselves, e.g. core 0.13 or 2021. Empty: the newest.',
      },
    ],
  },
];

export const constraintGroups: readonly FieldGroup[] = [
  {
    title: 'Limits',
    fields: [
      {
        path: 'constraints.headroomFraction',
        kind: 'percent',
        label: 'Memory headroom',
        unit: '%',
        help: 'Of usable memory; has to stay free for a plan to count as fitting.',
      },
      {
        path: 'constraints.minMfu',
        kind: 'percent',
        nullable: true,
        label: 'Least MFU',
        unit: '%',
        help: 'Slower plans are left out. Empty: no limit.',
      },
      {
        path: 'constraints.maxAccelerators',
        kind: 'count',
        nullable: true,
        label: 'Most accelerators',
        help: 'Empty: all of the cluster.',
      },
      {
        path: 'objective',
        kind: 'choice',
        label: 'Looking for',
        choices: choices(
          ['throughput', 'Highest throughput'],
          ['time', 'Least time'],
          ['cost', 'Least cost'],
          ['energy', 'Least energy'],
          ['memory-headroom', 'Most memory headroom'],
          ['robust', 'Robust'],
        ),
      },
    ],
  },
];

export const notesGroup: FieldGroup = {
  title: 'Notes',
  fields: [
    { path: 'notes', kind: 'text', multiline: true, label: 'Notes', help: 'Kept with the scenario and its file.' },
  ],
};

/** Plan fields that a pin can hold to certain values; lists of numbers. */
export const pinnableNumbers = [
  { key: 'tp', label: 'TP', help: 'Tensor parallel degree.' },
  { key: 'pp', label: 'PP', help: 'Pipeline parallel degree.' },
  { key: 'vpp', label: 'VPP', help: 'Virtual stages per accelerator.' },
  { key: 'microBatchSize', label: 'Micro-batch', help: 'Sequences at a time.' },
] as const;

export const steps = [
  { id: 'question', label: 'Question', prefixes: [] },
  { id: 'model', label: 'Model', prefixes: ['model'] },
  { id: 'cluster', label: 'Cluster', prefixes: ['cluster'] },
  { id: 'job', label: 'Job', prefixes: ['job'] },
  { id: 'constraints', label: 'Constraints', prefixes: ['constraints', 'objective', 'notes', 'plan', 'name'] },
] as const;
export type StepId = (typeof steps)[number]['id'];

const allGroups = [modelGroups, clusterGroups, jobGroups, constraintGroups].flat();

/** What a path is called on the page. */
export function labelOf(path: string): string {
  const spec = [...allGroups, notesGroup].flatMap((group) => group.fields).find((item) => item.path === path);
  return spec?.label ?? path;
}

/** The step that shows a path. */
export function stepOf(path: string): StepId {
  const root = path.split('.')[0] ?? '';
  return steps.find((step) => (step.prefixes as readonly string[]).includes(root))?.id ?? 'constraints';
}
