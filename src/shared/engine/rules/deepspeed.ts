/** Rules of DeepSpeed. Source: DeepSpeed runtime/pipe/engine.py and runtime/config.py, docs/_pages/config-json. */
import type { Plan } from '../../schema/index.ts';
import { divisorsOf } from '../divisors.ts';
import { setDegree, type Rule } from './rule.ts';

const deepspeed = ['deepspeed'] as const;

export const deepspeedRules: readonly Rule[] = [
  {
    id: 'zero-excludes-pipeline',
    path: 'sharding.zeroStage',
    families: deepspeed,
    needs: ['plan.zeroStage'],
    // the pipeline engine keeps gradients of several micro-batches, which ZeRO-2 and 3 would have scattered already
    fault: (_, { pp, sharding }) =>
      pp > 1 && sharding.zeroStage >= 2
        ? `DeepSpeed's pipeline engine takes ZeRO stage 0 or 1, not ${sharding.zeroStage} with pp = ${pp}`
        : null,
    candidates: () => [0, 1],
    set: (plan, value) => ({
      ...plan,
      sharding: { ...plan.sharding, zeroStage: Number(value) as Plan['sharding']['zeroStage'] },
    }),
  },
  {
    id: 'pipeline-engine-1f1b',
    path: 'vpp',
    families: deepspeed,
    fault: (_, { vpp }) => (vpp > 1 ? `DeepSpeed's pipeline engine does not interleave, but vpp = ${vpp}` : null),
    candidates: () => [1],
    set: (plan) => ({ ...plan, vpp: 1, schedule: { name: '1f1b', groupSize: null } }),
  },
  {
    id: 'ep-divides-dp',
    path: 'ep',
    families: deepspeed,
    needs: ['plan.dp'],
    // deepspeed/utils/groups.py: expert groups are cut out of the data-parallel group
    fault: (_, { dp, ep }) => (dp % ep === 0 ? null : `ep = ${ep} does not divide the dp = ${dp} replicas`),
    candidates: (_, { dp }) => divisorsOf(dp),
    set: setDegree('ep'),
  },
  {
    id: 'offload-needs-sharding',
    path: 'offload.weights',
    families: deepspeed,
    needs: ['plan.zeroStage'],
    // offload_param is a setting of stage 3 only
    fault: (_, { offload, sharding }) =>
      offload.weights > 0 && sharding.zeroStage < 3
        ? `DeepSpeed offloads parameters only with ZeRO stage 3, not ${sharding.zeroStage}`
        : null,
    candidates: () => [0],
    set: (plan) => ({ ...plan, offload: { ...plan.offload, weights: 0 } }),
  },
];
