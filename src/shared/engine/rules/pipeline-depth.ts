/** Pipelines of frameworks that deal layers out unevenly by themselves: every stage needs at least one. */
import { divisorsOf } from '../divisors.ts';
import { setDegree, type Rule } from './rule.ts';

export const stagesNeedLayers: Rule = {
  id: 'stages-need-layers',
  path: 'pp',
  families: ['fsdp', 'deepspeed'],
  needs: ['model.numLayers'],
  // torchtitan distributed/pipeline_parallel.py; DeepSpeed runtime/pipe/module.py (partition_uniform)
  fault: ({ model }, { pp, vpp }) =>
    pp * vpp <= model.numLayers ? null : `pp·vpp = ${pp * vpp} stages, but only ${model.numLayers} layers to fill them`,
  candidates: ({ network }) => divisorsOf(network.numAccelerators),
  set: setDegree('pp'),
};
