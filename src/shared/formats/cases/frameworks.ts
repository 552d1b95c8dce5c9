/** Which family's rules and defaults hold for a framework as records name it. */

import { stackFamilies, type StackName } from '../../schema/index.ts';

/** Families with rules of their own; `serving` for inference engines; `other` where only what holds everywhere is known. */
export type CaseFamily = 'megatron-lm' | 'fsdp' | 'deepspeed' | 'serving' | 'other';

export interface CaseFramework {
  family: CaseFamily;
  /** Free text as job.framework.version; null = the newest that is modelled. */
  version: string | null;
  /** The product, where what it holds differs from its family's; null = the family's own. */
  stack: StackName | null;
  /** An unset expert tensor parallelism is the tensor parallelism. */
  etpFollowsTp: boolean;
}

/** First match wins: Megatron-DeepSpeed splits tensors as Megatron-LM does, but its pipeline and states are DeepSpeed's. */
const families: readonly [RegExp, CaseFamily][] = [
  [/vllm|sglang|tensorrt|trt-llm|aiconfigurator|lmdeploy|\btgi\b/i, 'serving'],
  [/deepspeed|neox|llama-?factory|openrlhf/i, 'deepspeed'],
  [/megatron|mcore|nemo|bridge|primus|zero-bubble|internevo|nanotron|slime|swift|verl|mindspeed/i, 'megatron-lm'],
  [/torchtitan|fsdp|torchtune|automodel|foundry|composer|litgpt|transformers|accelerate|lightning|axolotl/i, 'fsdp'],
];

/**
 * "megatron-core 0.16" → "core 0.16"; "(old)" → the time before Megatron checked its layers. Where no version is written, a
 * paper's number dates its stack, and Megatron-DeepSpeed and GPT-NeoX are what they were in 2022: attention unfused.
 */
function versionOf(name: string, source: string): string | null {
  if (/\(old\)|\blegacy\b/i.test(name)) return '2021';
  const core = /core\D*(0\.\d+)/i.exec(name);
  if (core !== null) return `core ${core[1]}`;
  const number = /\bv?(\d+\.\d+(?:\.\d+)?)\b/.exec(name);
  if (number !== null) return number[1] ?? null;
  if (/foundry|composer/i.test(name)) return 'llm-foundry';
  const paper = /arxiv:(\d{2})\d{2}\.\d{4,5}/i.exec(source);
  if (paper !== null) return `20${paper[1]}`;
  return /megatron-deepspeed|neox/i.test(name) ? '2022' : null;
}

const stacks: readonly [RegExp, StackName][] = [
  [/foundry|composer/i, 'llm-foundry'],
  [/torchtitan/i, 'torchtitan'],
  [/maxtext/i, 'maxtext'],
];

/** The family of a framework by its name; the source (a repository, a paper) tells what the name leaves open. */
export function frameworkOf(name: string | null | undefined, source: string | null | undefined): CaseFramework {
  const text = name ?? '';
  const family = families.find(([pattern]) => pattern.test(text))?.[1] ?? 'other';
  const stack = stacks.find(([pattern, name]) => pattern.test(text) && stackFamilies[name] === family)?.[1] ?? null;
  return {
    family,
    stack,
    version: versionOf(text, source ?? ''),
    etpFollowsTp: !/swift/i.test(`${text} ${source ?? ''}`),
  };
}
