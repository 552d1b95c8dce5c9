/** The plan of a row: what it states, then what its public recipe sets, then what its stack does by default. */
import type { Plan, PlanInput, Run } from '../../schema/index.ts';
import type { Stack } from './stack.ts';

type Modules = Plan['recompute']['modules'];

/** Names of recomputed modules in Megatron-LM's and NeMo's words. */
const modules: readonly { name: RegExp; module: Modules[number] }[] = [
  { name: /core_?attn|attention core|core attention/i, module: 'core-attention' },
  { name: /mla_up_proj/i, module: 'mla-up-projection' },
  { name: /moe_act/i, module: 'moe-activation' },
  { name: /shared_experts?/i, module: 'shared-experts' },
  { name: /layer_?norms?|\bnorms?\b/i, module: 'norms' },
  { name: /\bmoe\b/i, module: 'moe' },
  { name: /\bmlp\b/i, module: 'mlp' },
];

function modulesOf(text: string): Modules {
  return modules.flatMap(({ name, module }) => (name.test(text) ? [module] : []));
}

/** full | selective | none from the record's words; null where they say nothing. */
function modeOf(text: string | null | undefined): 'none' | 'selective' | 'full' | null {
  if (text == null) return null;
  if (/^\s*(none|no|off)\b/i.test(text)) return 'none';
  if (/selective/i.test(text)) return 'selective';
  if (/full|block|uniform/i.test(text)) return 'full';
  return null;
}

/**
 * torchtitan's per-operator checkpointing repeats every second matmul of a layer; of a decoder's seven (q, k, v, output,
 * gate, up, down) those are k, output and up: about 0.37 of the FLOPs of a Llama layer.
 * Source: torchtitan parallelize_llama.py (selective op).
 */
const OPERATOR_CHECKPOINT_SHARE = 0.37;

/** What is recomputed; a text is the reason why nobody may guess. */
function readRecompute(run: Run, stack: Stack, assumed: string[]): PlanInput['recompute'] | string {
  const { parallel, recipe, model } = run;
  const mode = modeOf(parallel.recompute);
  if (mode === 'selective' && /\bop\b/i.test(parallel.recompute ?? '')) {
    const layersPerStage = Math.max(1, Math.round(OPERATOR_CHECKPOINT_SHARE * (model.layers ?? 1)));
    assumed.push('parallel.recompute: every second matmul, taken as as much of whole layers');
    return { mode: 'full', layersPerStage };
  }
  if (mode === 'selective') {
    const named = modulesOf(parallel.recompute ?? '');
    if (named.length === 0) assumed.push('parallel.recompute: core attention');
    return { mode, modules: named.length === 0 ? ['core-attention'] : named };
  }
  if (mode !== null) return { mode };
  const fromRecipe = modulesOf((recipe?.recompute_modules ?? []).join(' '));
  if (fromRecipe.length > 0) {
    assumed.push(`parallel.recompute: ${fromRecipe.join(', ')} (the run’s recipe)`);
    return { mode: 'selective', modules: fromRecipe };
  }
  if (recipe?.recompute_num_layers != null) {
    assumed.push(`parallel.recompute: ${recipe.recompute_num_layers} layers (the run’s recipe)`);
    return { mode: 'full', layersPerStage: recipe.recompute_num_layers };
  }
  if (stack.recompute === null) return 'parallel.recompute is unknown and the stack has no usual setting';
  assumed.push(`parallel.recompute: ${stack.recompute} (the default of the framework)`);
  return { mode: stack.recompute };
}

interface Words {
  zeroStage: Plan['sharding']['zeroStage'];
  group?: Plan['sharding']['group'];
  reshardAfterForward?: boolean;
}

/** Sharding from the record's words; null where they are none that is planned. */
function shardingOf(text: string, dp: number): Words | null {
  const size = /shard group (\d+)/i.exec(text)?.[1] ?? /^zero1=(\d+)/i.exec(text)?.[1];
  const group = size === undefined || Number(size) >= dp ? {} : { group: { size: Number(size) } };
  if (/^ddp/i.test(text)) return { zeroStage: 1 };
  if (/^zero-?1\b|^zero1=/i.test(text)) return { zeroStage: 1, ...group };
  // parameters stay whole from a micro-batch's forward to its backward
  if (/^shard_grad_op$/i.test(text)) return { zeroStage: 3, reshardAfterForward: false };
  if (/^(full_shard|fsdp2?\b|megatron-fsdp)/i.test(text)) return { zeroStage: 3, ...group };
  const stage = /^(?:zero|stage)?[-_ ]?([0-3])$/i.exec(text)?.[1];
  return stage === undefined ? null : { zeroStage: Number(stage) as Words['zeroStage'] };
}

function readSharding(run: Run, stack: Stack, dp: number, assumed: string[]): Words | string {
  const { parallel, recipe } = run;
  const text = parallel.zero == null ? '' : String(parallel.zero).trim();
  if (text !== '') {
    const words = shardingOf(text, dp);
    if (words === null) return `sharding ${text} is not planned by this version`;
    return words.zeroStage === 1 && parallel.dist_opt === false ? { zeroStage: 0 } : words;
  }
  if (recipe?.use_megatron_fsdp === true) return { zeroStage: 3 };
  const on = parallel.dist_opt ?? !stack.isOld;
  if (stack.shardsAll) {
    assumed.push('parallel.zero: 3 (the framework shards weights)');
    return { zeroStage: 3 };
  }
  if (parallel.dist_opt == null && dp > 1)
    assumed.push(`parallel.dist_opt: ${on ? 'on' : 'off'} (usual for the stack’s year)`);
  return { zeroStage: on ? 1 : 0 };
}

/** What runs beside what. */
function readOverlap(run: Run, stack: Stack, tp: number, assumed: string[]): PlanInput['overlap'] {
  const { parallel, recipe } = run;
  const text = parallel.overlap ?? '';
  if (/^none\b/i.test(text))
    return { tp: false, gradReduce: false, paramGather: false, pipeline: false, expert: false };
  const tpOverlap = /async tp/i.test(text) ? true : recipe?.tp_comm_overlap;
  if (tpOverlap == null && tp > 1 && stack.overlapsTensorParallel)
    assumed.push('overlap of tensor-parallel collectives: on (usual for the recipes)');
  const expert = /ep a2a overlap/i.test(text) ? !/no ep a2a/i.test(text) : recipe?.moe_a2a_overlap;
  return {
    tp: tpOverlap ?? (tp > 1 && stack.overlapsTensorParallel),
    expert: expert ?? false,
    ...(recipe?.overlap_grad_sync == null ? {} : { gradReduce: recipe.overlap_grad_sync }),
    ...(recipe?.overlap_param_sync == null ? {} : { paramGather: recipe.overlap_param_sync }),
    ...(recipe?.pp_p2p_overlap == null ? {} : { pipeline: recipe.pp_p2p_overlap }),
  };
}

function readRuntime(
  { parallel, recipe, notes, model }: Run,
  { attentionKernel, fusedKernels }: Stack,
): PlanInput['runtime'] {
  const text = parallel.overlap ?? '';
  const dispatcher = [recipe?.moe_dispatcher, text].find((words) => /hybridep|deepep|allgather/i.test(words ?? ''));
  const scope = JSON.stringify(recipe?.cuda_graph_scope ?? '');
  const graphs = recipe?.cuda_graph_impl;
  const isFull = graphs === 'full_iteration' || (graphs === 'none' && /full_iteration/.test(scope));
  const isPerLayer = graphs === 'transformer_engine' || graphs === 'local' || /cuda graphs/i.test(text);
  return {
    ...(attentionKernel === null ? {} : { attentionKernel }),
    // as the record writes models whose experts take a fixed number of tokens
    ...(/token-?drop/i.test(model.name ?? '') ? { expertCapacity: 'padded', expertImbalance: 1 } : {}),
    // a benchmark that overrides its router sends every expert rank the same number of rows
    ...(/force-balanced/i.test(notes ?? '') ? { expertImbalance: 1 } : {}),
    ...((fusedKernels ?? /torch\.compile/i.test(notes ?? '')) ? {} : { fusedKernels: false }),
    ...(dispatcher == null
      ? {}
      : {
          expertDispatcher: /hybridep/i.test(dispatcher)
            ? 'hybridep'
            : /deepep/i.test(dispatcher)
              ? 'deepep'
              : 'allgather',
        }),
    ...(isFull ? { cudaGraphs: 'full' } : isPerLayer ? { cudaGraphs: 'per-layer' } : {}),
  };
}

/**
 * Layers, embedding, multi-token prediction and loss spread evenly, each counted as one, in Megatron's notation; null where
 * the layers divide, undefined where there are more stages than places. Source: Megatron-LM, account-for-embedding and
 * -loss-in-pipeline-split.
 */
function spreadLayout(layers: number, mtpLayers: number, numStages: number): string | null | undefined {
  if (numStages === 1 || (layers % numStages === 0 && mtpLayers === 0)) return null;
  const places = `E${'t'.repeat(layers)}${'m'.repeat(mtpLayers)}L`;
  if (places.length < numStages) return undefined;
  const stages: string[] = [];
  for (let stage = 0, from = 0; stage < numStages; stage++) {
    const to = Math.round(((stage + 1) * places.length) / numStages);
    stages.push(places.slice(from, to));
    from = to;
  }
  return stages.join('|');
}

function readStages(run: Run, assumed: string[]): Pick<PlanInput, 'pp' | 'vpp' | 'layout'> | string {
  const { parallel, model } = run;
  const pp = parallel.pp ?? 1;
  if (parallel.vp == null && pp > 1) assumed.push('parallel.vp: 1 (not interleaved)');
  // chunks of a pipeline of one stage run one after the other
  const vpp = pp === 1 ? 1 : (parallel.vp ?? 1);
  const layout = spreadLayout(model.layers ?? 0, model.mtp_layers ?? 0, pp * vpp);
  if (layout === undefined) return `pp·vp = ${pp * vpp} stages are more than the model has layers`;
  if (layout !== null) assumed.push('layers per stage: as even as they go, embedding and loss counted as a layer each');
  return { pp, vpp, layout };
}

/** The plan of a row, or why it cannot be told. */
export function readPlan(run: Run, stack: Stack, assumed: string[]): PlanInput | { skipped: string } {
  const { parallel, cluster, recipe, model } = run;
  const [tp, cp] = [parallel.tp ?? 1, parallel.cp ?? 1];
  const stages = readStages(run, assumed);
  if (typeof stages === 'string') return { skipped: stages };
  const recompute = readRecompute(run, stack, assumed);
  if (typeof recompute === 'string') return { skipped: recompute };
  const stated = parallel.sp ?? recipe?.sp;
  const sp = stated ?? (tp > 1 && !stack.isOld);
  if (stated == null && tp > 1) assumed.push(`parallel.sp: ${sp ? 'on' : 'off'} (usual for the stack’s year)`);
  const dp = parallel.dp ?? (cluster.total_gpus ?? 1) / (tp * (stages.pp ?? 1) * cp);
  const sharding = readSharding(run, stack, dp, assumed);
  if (typeof sharding === 'string') return { skipped: sharding };
  const ep = parallel.ep ?? 1;
  if (model.moe != null && parallel.ep == null) assumed.push('parallel.ep: 1');
  const offloaded = recipe?.cpu_offloading_num_layers;
  return {
    tp,
    ...stages,
    cp,
    ep: model.moe == null ? 1 : ep,
    etp: model.moe == null ? 1 : (parallel.etp ?? 1),
    dp,
    microBatchSize: parallel.mbs ?? 1,
    sequenceParallel: sp && tp > 1,
    recompute,
    sharding,
    overlap: readOverlap(run, stack, tp, assumed),
    runtime: readRuntime(run, stack),
    ...(offloaded == null ? {} : { offload: { activations: Math.min(1, offloaded / (model.layers ?? offloaded)) } }),
  };
}
