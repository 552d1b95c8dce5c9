/** Defaults of a plan in which frameworks differ. */
import { stackOf } from '../layer-stack.ts';
import type { Plan } from '../schema/index.ts';
import { spreadLayout } from './layout.ts';
import type { Problem } from './problem.ts';

/** Year from which stacks run flash attention, a distributed optimizer and overlapped reductions unless told otherwise. */
export const MODERN_STACK_YEAR = 2023;
/** Year of sequence parallelism (Korthikanti et al. 2022). */
const SEQUENCE_PARALLEL_YEAR = 2022;

export interface FrameworkDefaults {
  zeroStage: Plan['sharding']['zeroStage'];
  reshardAfterForward: boolean;
  sequenceParallel: boolean;
  fusedCrossEntropy: boolean;
  etp: number;
  layout: string | null;
}

/** Defaults in which frameworks differ. Source: MODEL §6.5. */
export function frameworkDefaults(
  problem: Problem,
  { tp, pp, vpp }: Pick<Plan, 'tp' | 'pp' | 'vpp'>,
): FrameworkDefaults {
  const { framework, workload, model } = problem;
  const isModern = workload.stackYear >= MODERN_STACK_YEAR;
  const spread = spreadLayout(model.numLayers, pp * vpp);
  switch (framework.family) {
    case 'fsdp':
      // torchtitan keeps weights gathered between a pipeline's micro-batches (fsdp_reshard_after_forward "default")
      return {
        zeroStage: 3,
        reshardAfterForward: pp === 1,
        sequenceParallel: tp > 1,
        // llm-foundry's models take flash-attn's kernel unless told otherwise (mpt/modeling_mpt.py, loss_fn)
        fusedCrossEntropy: framework.stack === 'llm-foundry',
        etp: 1,
        layout: spread,
      };
    case 'deepspeed':
      return {
        zeroStage: isModern || pp > 1 ? 1 : 0,
        reshardAfterForward: true,
        sequenceParallel: false,
        fusedCrossEntropy: false,
        etp: 1,
        layout: spread,
      };
    default:
      return {
        zeroStage: isModern ? 1 : 0,
        reshardAfterForward: true,
        sequenceParallel: tp > 1 && workload.stackYear >= SEQUENCE_PARALLEL_YEAR,
        fusedCrossEntropy: isModern,
        // an unset --expert-tensor-parallel-size is the tensor parallel size (arguments.py)
        etp: stackOf(model).kinds.some(({ ffn }) => ffn.type === 'moe') ? tp : 1,
        layout: null,
      };
  }
}
