/** The fields of the wizard's steps, and where each is. */
import { clusterGroups, ownHardwareGroup } from './cluster-fields.ts';
import { choices, type FieldGroup } from './field-types.ts';
import { modelGroups } from './model-fields.ts';

/** Adapters as most begin with them: on every linear map. Source: Hu et al. 2021; Megatron-Bridge's LoRA (dim). */
export const loraInitial = { rank: 16, targets: ['attention', 'ffn'] };

export const jobGroups: readonly FieldGroup[] = [
  {
    title: 'Batch and length',
    fields: [
      {
        path: 'job.globalBatchSize',
        kind: 'count',
        label: 'Global batch',
        unit: 'sequences',
        help: 'Per step, over all accelerators.',
      },
      {
        path: 'job.seqLen',
        kind: 'count',
        label: 'Sequence length',
        unit: 'tokens',
        help: 'Activations grow with it; attention with its square.',
      },
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
        choices: choices(['pretrain', 'Pre-training'], ['sft', 'Fine-tuning of all weights'], ['lora', 'LoRA']),
      },
    ],
  },
  {
    title: 'Adapters (LoRA)',
    optional: {
      path: 'job.lora',
      label: 'Train small adapters, not the weights',
      help: 'The weights stay as they are: no gradients and no optimizer states for them.',
      initial: loraInitial,
    },
    fields: [
      {
        path: 'job.lora.rank',
        kind: 'count',
        label: 'Rank',
        help: 'Width of the adapters. Its scale, alpha, changes neither time nor memory.',
      },
      {
        path: 'job.lora.targets',
        kind: 'list-choice',
        label: 'Adapted maps',
        choices: choices(
          ['attention,ffn', 'All linear maps of a layer'],
          ['attention', 'Those of attention'],
          ['qkv', 'Queries, keys and values'],
          ['qkv,ffn', 'Queries, keys, values and feed-forward'],
          ['ffn', 'Those of the feed-forward parts'],
        ),
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
        help: 'BF16 is the safe choice. FP8 is up to twice as fast on parts that have it. FP4 (NVFP4) is for Blackwell and newer; some layers may need BF16 to converge.',
        choices: choices(['bf16', 'BF16'], ['fp16', 'FP16'], ['fp8', 'FP8'], ['fp4', 'FP4'], ['fp32', 'FP32 (later)']),
      },
      {
        path: 'job.precision.weights',
        kind: 'choice',
        label: 'Weights',
        help: 'The copy that matmuls read. FSDP keeps FP32 weights and casts what it gathers.',
        choices: choices(['bf16', 'BF16'], ['fp16', 'FP16'], ['fp32', 'FP32']),
      },
      {
        path: 'job.precision.gradients',
        kind: 'choice',
        label: 'Gradients',
        help: 'What is summed over micro-batches and ranks. FP32 is more exact, 16 bits halve memory and traffic.',
        choices: choices(['fp32', 'FP32'], ['bf16', 'BF16'], ['fp16', 'FP16']),
      },
      {
        path: 'job.precision.optimizer',
        kind: 'choice',
        label: 'Optimizer',
        help: 'Adam with FP32 states takes 12 bytes per parameter, the largest part of a model’s memory before sharding.',
        choices: choices(
          ['adam-fp32', 'Adam, FP32 states'],
          ['adam-bf16', 'Adam, BF16 moments'],
          ['adam-fp8', 'Adam, FP8 moments'],
          ['adam-8bit', '8-bit Adam'],
          ['adam-bf16-pure', 'Adam, all BF16'],
          ['muon', 'Muon'],
          ['sgd-momentum', 'SGD with momentum'],
          ['adafactor', 'Adafactor'],
        ),
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
        choices: choices(['megatron-lm', 'Megatron-LM'], ['fsdp', 'FSDP (torchtitan)'], ['deepspeed', 'DeepSpeed']),
        help: 'Its rules and defaults hold for every plan.',
      },
      {
        path: 'job.framework.stack',
        kind: 'choice',
        label: 'Product',
        choices: choices(
          [null, 'Any of this framework'],
          ['megatron-lm', 'Megatron-LM'],
          ['nemo', 'NVIDIA NeMo'],
          ['megatron-bridge', 'Megatron-Bridge'],
          ['megatron-deepspeed', 'Megatron-DeepSpeed'],
          ['internevo', 'InternEvo'],
          ['torchtitan', 'torchtitan'],
          ['llm-foundry', 'llm-foundry'],
          ['fsdp', 'PyTorch FSDP'],
          ['maxtext', 'MaxText'],
          ['paxml', 'PaxML'],
          ['deepspeed', 'DeepSpeed'],
        ),
        help: 'Step times learn from measured runs of this product. It must belong to the framework.',
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

const allGroups = [modelGroups, clusterGroups, [ownHardwareGroup], jobGroups, constraintGroups].flat();

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
