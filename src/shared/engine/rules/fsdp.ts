/** Rules of PyTorch FSDP and torchtitan. */
import { divisorsOf } from '../divisors.ts';
import { numMicroBatchesOf, setDegree, type Rule } from './rule.ts';

const fsdp = ['fsdp'] as const;

export const fsdpRules: readonly Rule[] = [
  {
    id: 'micro-batches-fill-pipeline',
    path: 'microBatchSize',
    families: fsdp,
    needs: ['plan.numMicroBatches'],
    consequence: 'hangs',
    // pytorch/torchtitan#775: ranks wait for sends that never come
    fault: (problem, plan) => {
      const m = numMicroBatchesOf(problem, plan);
      return plan.pp > 1 && Number.isInteger(m) && m < plan.pp
        ? `${m} micro-batches are fewer than the pp = ${plan.pp} stages: the schedule waits for sends that never come`
        : null;
    },
    candidates: ({ workload }) => divisorsOf(workload.globalBatchSize).filter((size) => size <= 64),
    set: setDegree('microBatchSize'),
  },
];
