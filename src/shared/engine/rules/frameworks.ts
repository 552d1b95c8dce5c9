/** The rules of frameworks: a new one is one file, or one entry in a file, and one line here. */
import { deepspeedRules } from './deepspeed.ts';
import { fsdpRules } from './fsdp.ts';
import { kvHeadsDivideTp } from './heads.ts';
import { megatronRules } from './megatron.ts';
import { pipelineDepthRules } from './pipeline-depth.ts';
import type { Rule } from './rule.ts';
import { servingRules } from './serving.ts';

export const frameworkRules: readonly Rule[] = [
  kvHeadsDivideTp,
  ...pipelineDepthRules,
  ...megatronRules,
  ...fsdpRules,
  ...deepspeedRules,
  ...servingRules,
];
