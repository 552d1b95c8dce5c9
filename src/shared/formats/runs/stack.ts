/**
 * The software stack of a row: which family's rules hold, how old it is, and what it does where the row is silent.
 * Sources: Megatron-LM arguments.py and release notes; NeMo and Megatron-Bridge performance recipes; PyTorch FSDP's and
 * Composer's defaults; MaxText base.yml and Praxis' checkpoint policies.
 */
import type { Job, Run } from '../../schema/index.ts';

export interface Stack {
  family: Job['framework']['family'];
  /** The product, where a calibration tells it apart. */
  name: Job['framework']['stack'];
  /** Version as the planner understands it; null = the newest. */
  version: string | null;
  /** Before 2023: no sequence parallelism, sharded optimizer, flash attention or overlap unless said. */
  isOld: boolean;
  /** Shards weights, gradients and optimizer unless said. */
  shardsAll: boolean;
  /** NVIDIA's performance recipes overlap tensor-parallel collectives with their matmuls. */
  overlapsTensorParallel: boolean;
  /** GPT-style models of this stack train with dropout and biases. */
  dropout: boolean;
  biases: boolean;
  /** Attention kernel where it is not that of the version's year. */
  attentionKernel: 'flash' | 'flash-2' | null;
  /** Element-wise work runs in fused kernels; null = where the row says torch.compile. */
  fusedKernels: boolean | null;
  /** What gradients are summed and reduced in, beside bf16 weights. */
  gradients: 'fp32' | 'bf16';
  /** What is recomputed where the row says nothing; null = nobody may guess. */
  recompute: 'none' | 'full' | null;
}

interface Entry {
  name: RegExp;
  stack: Partial<Stack>;
}

/** First match wins. A fork may run schedules of its own, which a row states in words only. */
const entries: readonly Entry[] = [
  { name: /\bfork\b|neuron/i, stack: {} },
  { name: /bigscience/i, stack: { family: 'megatron-lm', name: 'megatron-deepspeed', dropout: false } },
  { name: /megatron-bridge/i, stack: { family: 'megatron-lm', name: 'megatron-bridge', overlapsTensorParallel: true } },
  { name: /nemo/i, stack: { family: 'megatron-lm', name: 'nemo', overlapsTensorParallel: true } },
  { name: /megatron-?(lm|core)|megatron core|mindspeed/i, stack: { family: 'megatron-lm', name: 'megatron-lm' } },
  // its hybrid ZeRO optimizer reduces gradients in the weights' own type (hybrid_zero_optim.py)
  { name: /internevo/i, stack: { family: 'megatron-lm', name: 'internevo', gradients: 'bf16' } },
  {
    name: /llm-foundry|composer/i,
    stack: {
      family: 'fsdp',
      name: 'llm-foundry',
      shardsAll: true,
      dropout: false,
      biases: false,
      attentionKernel: 'flash-2',
      // Composer trains eagerly unless told otherwise
      fusedKernels: false,
    },
  },
  // PyTorch's own attention
  {
    name: /torchtitan/i,
    stack: { family: 'fsdp', name: 'torchtitan', shardsAll: true, attentionKernel: 'flash-2', fusedKernels: null },
  },
  { name: /fsdp/i, stack: { family: 'fsdp', name: 'fsdp', shardsAll: true, attentionKernel: 'flash-2' } },
  // both keep a layer's input only, unless a policy is set
  { name: /maxtext/i, stack: { family: 'fsdp', name: 'maxtext', shardsAll: true, recompute: 'full' } },
  { name: /pax/i, stack: { family: 'fsdp', name: 'paxml', shardsAll: true, recompute: 'full' } },
  { name: /deepspeed/i, stack: { family: 'deepspeed', name: 'deepspeed' } },
];

function yearOf(version: string | null | undefined): number | null {
  const year = /\b(20[12]\d)\b/.exec(version ?? '');
  return year === null ? null : Number(year[1]);
}

/** Megatron-LM's number where the framework's name carries it ("0.14 era"); else the version where it speaks of it. */
function versionOf({ framework, framework_version: version }: Run): string | null {
  const era = /\b(0\.\d+) era/.exec(framework ?? '');
  if (era !== null) return `core ${era[1]}`;
  return version != null && (/\b20[12]\d\b|\bcore\b|\b0\.\d+/i.test(version) || /^v\d/i.test(version)) ? version : null;
}

/** The stack of a row; null where it is not planned. */
export function stackOfRun(run: Run): Stack | null {
  const entry = entries.find(({ name }) => name.test(run.framework ?? ''));
  if (entry?.stack.family === undefined) return null;
  const version = versionOf(run);
  const year = yearOf(run.framework_version);
  const isOld = year !== null && year <= 2022;
  return {
    family: entry.stack.family,
    name: null,
    version,
    isOld,
    shardsAll: false,
    overlapsTensorParallel: false,
    dropout: true,
    biases: true,
    attentionKernel: null,
    gradients: 'fp32',
    fusedKernels: true,
    recompute: isOld ? null : 'none',
    ...entry.stack,
  };
}
