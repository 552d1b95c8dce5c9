/**
 * Rules of Megatron-LM and Megatron-Core (NeMo, Bridge, Primus and others run on it) beyond sizes and meshes.
 * Source: Megatron-LM megatron/training/arguments.py and megatron/core/transformer/transformer_config.py, as read for
 * docs/MODEL.md §5.5; each rule names what it is there.
 */
import { stackOf } from '../../layer-stack.ts';
import type { Model, Plan } from '../../schema/index.ts';
import type { Rule, Value } from './rule.ts';

const megatron = ['megatron-lm'] as const;

/** Whether any layer has experts. */
export const hasExperts = (model: Model): boolean => stackOf(model).kinds.some(({ ffn }) => ffn.type === 'moe');
const hasLatent = (model: Model): boolean => stackOf(model).kinds.some(({ mixer }) => mixer.type === 'mla');

const setModules = (plan: Plan, value: Value): Plan =>
  value === 'core-attention' ? { ...plan, recompute: { ...plan.recompute, modules: ['core-attention'] } } : plan;

export const megatronRules: readonly Rule[] = [
  {
    id: 'fsdp-excludes-pipeline',
    path: 'sharding.zeroStage',
    families: megatron,
    needs: ['plan.zeroStage'],
    // --use-torch-fsdp2 asserts a pipeline of one; Megatron-FSDP is tested with pp 1 only
    fault: (_, { pp, sharding }) =>
      pp > 1 && sharding.zeroStage >= 2
        ? `sharded weights or gradients (FSDP, ZeRO stage ${sharding.zeroStage}) exclude a pipeline in Megatron-LM, but pp = ${pp}`
        : null,
    candidates: () => [0, 1],
    set: (plan, value) => ({
      ...plan,
      sharding: { ...plan.sharding, zeroStage: Number(value) as Plan['sharding']['zeroStage'] },
    }),
  },
  {
    id: 'interleaving-needs-overlap',
    path: 'overlap.pipeline',
    families: megatron,
    // two ranks that both send and receive in step would wait for each other: pp above 2, or overlapped sends
    fault: (_, { pp, vpp, overlap }) =>
      vpp > 1 && pp === 2 && !overlap.pipeline
        ? `interleaving over pp = 2 needs overlapped sends (--overlap-p2p-communication)`
        : null,
    candidates: () => [true],
    set: (plan) => ({ ...plan, overlap: { ...plan.overlap, pipeline: true } }),
  },
  {
    id: 'expert-overlap-needs-interleaving',
    path: 'overlap.expert',
    families: megatron,
    // --overlap-moe-expert-parallel-comm: hides the exchange behind another chunk's micro-batch
    fault: (_, { pp, vpp, overlap, recompute }) => {
      if (!overlap.expert) return null;
      if (pp > 1 && vpp === 1) return `hiding expert communication over pp = ${pp} needs interleaving (vpp above 1)`;
      return recompute.mode === 'full' ? 'hiding expert communication excludes full recomputation' : null;
    },
    candidates: () => [false],
    set: (plan) => ({ ...plan, overlap: { ...plan.overlap, expert: false } }),
  },
  {
    id: 'context-parallel-needs-fused-attention',
    path: 'runtime.attentionKernel',
    families: megatron,
    // context parallelism lives in Transformer Engine's fused and flash attention
    fault: (_, { cp, runtime }) =>
      cp > 1 && runtime.attentionKernel === 'unfused' ? `cp = ${cp} needs flash or fused attention` : null,
    candidates: () => ['flash'],
    set: (plan) => ({ ...plan, runtime: { ...plan.runtime, attentionKernel: 'flash' } }),
  },
  {
    id: 'recompute-modules-exist',
    path: 'recompute.modules',
    families: megatron,
    needs: ['model.moe', 'plan.recompute'],
    fault: ({ model }, { recompute }) => {
      if (recompute.mode !== 'selective') return null;
      const experts = recompute.modules.filter((module) => /^moe|^shared-experts/.test(module));
      if (experts.length > 0 && !hasExperts(model))
        return `recompute.modules names ${experts.join(', ')}, but the model has no experts`;
      return recompute.modules.includes('mla-up-projection') && !hasLatent(model)
        ? 'recompute.modules names mla-up-projection, but the model has no latent attention'
        : null;
    },
    candidates: () => ['core-attention'],
    set: setModules,
  },
  {
    id: 'activation-offload-alone',
    path: 'offload.activations',
    families: megatron,
    // --cpu-offloading: layers are moved in the order of one micro-batch
    fault: (_, { pp, offload, recompute, runtime }) => {
      if (offload.activations === 0) return null;
      const reasons = [
        pp > 1 ? `a pipeline (pp = ${pp})` : '',
        recompute.mode !== 'none' ? 'recomputation' : '',
        runtime.cudaGraphs !== 'none' ? 'CUDA graphs' : '',
      ].filter((reason) => reason !== '');
      return reasons.length === 0 ? null : `offloading activations excludes ${reasons.join(' and ')}`;
    },
    candidates: () => [0],
    set: (plan) => ({ ...plan, offload: { ...plan.offload, activations: 0 } }),
  },
];
