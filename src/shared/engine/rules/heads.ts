/** Heads of queries, keys and values over tensor parallelism: what each framework does where they do not divide. */
import { stackOf } from '../../layer-stack.ts';
import type { Model } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import type { Problem } from '../problem.ts';
import { isCoreFrom, setDegree, type Rule } from './rule.ts';

/** Key/value heads of every attention layer; latent attention has none to split. */
function kvHeadsOf(model: Model): number[] {
  return stackOf(model).kinds.flatMap(({ mixer }) => (mixer.type === 'attention' ? [mixer.numKvHeads] : []));
}

/**
 * Whether a framework copies key/value heads to several ranks where there are fewer of them than ranks: inference engines
 * do, Megatron-Core from 0.16 on; PyTorch's column-wise split and DeepSpeed's do not.
 * Source: Megatron-LM transformer_config.py; modelscope/ms-swift#8219, pytorch/torchtitan#2577, huggingface/transformers#48307.
 */
function copiesHeads(problem: Problem): boolean {
  const { family } = problem.framework;
  return family === 'serving' || (family === 'megatron-lm' && isCoreFrom(problem, 0, 16));
}

/** Key/value heads: whole ones per rank, or whole copies where the framework makes them. */
export const kvHeadsDivideTp: Rule = {
  id: 'kv-heads-divide-tp',
  path: 'tp',
  families: ['megatron-lm', 'fsdp', 'deepspeed', 'serving'],
  needs: ['model.numKvHeads'],
  fault: (problem, { tp }) => {
    const copies = copiesHeads(problem);
    const broken = kvHeadsOf(problem.model).find((heads) => heads % tp !== 0 && !(copies && tp % heads === 0));
    if (broken === undefined) return null;
    const plain = `${broken} key/value heads do not divide over tp = ${tp}`;
    if (copies) return `${plain}, and ${tp} ranks do not share ${broken} heads evenly either`;
    return tp % broken === 0 && problem.framework.family === 'megatron-lm'
      ? `${plain}; Megatron-Core copies heads to several ranks only from 0.16 on`
      : plain;
  },
  candidates: ({ network }) => divisorsOf(network.numAccelerators).filter((tp) => tp <= network.scaleUpDomainSize),
  set: setDegree('tp'),
};

/** Query heads in an inference engine. Source: vllm-project/vllm ModelConfig.verify_with_parallel_config. */
export const servingHeadsDivideTp: Rule = {
  id: 'heads-divide-tp',
  path: 'tp',
  families: ['serving'],
  needs: ['model.numHeads'],
  fault: ({ model }, { tp }) =>
    model.numHeads % tp === 0 ? null : `${model.numHeads} attention heads do not divide over tp = ${tp}`,
  candidates: ({ model }) => divisorsOf(model.numHeads),
  set: setDegree('tp'),
};
