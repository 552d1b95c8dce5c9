/** Rules of inference engines (vLLM and its like) that a training plan's fields can break. */
import { stackOf } from '../../layer-stack.ts';
import { divisorsOf } from '../divisors.ts';
import { ranksOf } from '../stages.ts';
import { servingHeadsDivideTp } from './heads.ts';
import { setDegree, type Rule } from './rule.ts';

const serving = ['serving'] as const;

export const servingRules: readonly Rule[] = [
  servingHeadsDivideTp,
  {
    id: 'experts-divide-ep',
    path: 'ep',
    families: serving,
    needs: ['model.moe'],
    // vllm-project/vllm#52435: placing experts needs the same number of (physical) experts on every rank
    fault: ({ model }, { ep }) => {
      const experts = stackOf(model).kinds.flatMap(({ ffn }) => (ffn.type === 'moe' ? [ffn.numExperts] : []));
      const broken = experts.find((count) => count % ep !== 0);
      if (broken === undefined) return null;
      const next = Math.ceil(broken / ep) * ep;
      return `${broken} experts do not divide over ep = ${ep}; ${next - broken} redundant ones would fill them up to ${next}`;
    },
    candidates: ({ model }) => divisorsOf(model.moe?.numExperts ?? 1),
    set: setDegree('ep'),
  },
  {
    id: 'pipeline-balance',
    path: 'layout',
    families: serving,
    needs: ['model.numLayers'],
    // a pipeline's cache is as large as its fullest rank leaves room for (vllm-project/vllm#34076)
    fault: ({ model }, plan) => {
      if (plan.layout === null) return null;
      const layers = ranksOf(model, plan)?.map((rank) => rank.layers) ?? [];
      const [most, even] = [Math.max(0, ...layers), Math.ceil(model.numLayers / plan.pp)];
      return most <= even
        ? null
        : `the ranks hold ${layers.join(', ')} layers: the one with ${most} (an even split gives ${even}) holds ${Math.round((100 * most) / even - 100)} % more weights and cache per token, and the room it leaves sets the cache of all`;
    },
    candidates: () => ['null'],
    set: (plan) => ({ ...plan, layout: null }),
  },
];
