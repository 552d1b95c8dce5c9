/** Pipelines of frameworks that deal layers out unevenly by themselves. */
import { divisorsOf } from '../divisors.ts';
import { spreadLayout } from '../layout.ts';
import { setDegree, type Rule, type RuleFamily } from './rule.ts';

const dealing: readonly RuleFamily[] = ['fsdp', 'deepspeed'];

export const pipelineDepthRules: readonly Rule[] = [
  {
    id: 'stages-need-layers',
    path: 'pp',
    families: dealing,
    needs: ['model.numLayers'],
    // torchtitan distributed/pipeline_parallel.py; DeepSpeed runtime/pipe/module.py (partition_uniform)
    fault: ({ model }, { pp, vpp }) =>
      pp * vpp <= model.numLayers
        ? null
        : `pp·vpp = ${pp * vpp} stages, but only ${model.numLayers} layers to fill them`,
    candidates: ({ network }) => divisorsOf(network.numAccelerators),
    set: setDegree('pp'),
  },
  {
    id: 'layers-need-layout',
    path: 'layout',
    families: dealing,
    needs: ['model.numLayers'],
    // a completed plan has the framework's own layout; one that was changed since must bring it along
    fault: ({ model }, { pp, vpp, layout }) =>
      layout !== null || model.numLayers % (pp * vpp) === 0 || pp * vpp > model.numLayers
        ? null
        : `${model.numLayers} layers do not divide over pp·vpp = ${pp * vpp} stages: a layout must say which holds how many`,
    candidates: ({ model }, { pp, vpp }) => [spreadLayout(model.numLayers, pp * vpp) ?? 'null'],
    set: (plan, value) => ({ ...plan, layout: value === 'null' ? null : String(value) }),
  },
];
