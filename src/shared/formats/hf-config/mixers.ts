/** Which mixer each layer of a configuration has: attention of some kind, or what takes its place. */
import { AppError } from '../../errors.ts';
import type { Mixer, MixerOf } from '../../schema/index.ts';
import type { ConfigReader } from './config.ts';
import type { Family } from './families.ts';

const HEADS = ['num_attention_heads', 'n_head', 'n_heads', 'num_heads'] as const;

/** Key/value heads, with the traps of multi-query flags. */
function kvHeads(config: ConfigReader, family: Family, numHeads: number): number {
  if (family.name === 'Falcon') {
    if (config.flag(false, 'new_decoder_architecture')) return config.number('num_kv_heads', 'n_head_kv') ?? numHeads;
    return config.flag(true, 'multi_query') ? 1 : (config.number('num_kv_heads') ?? numHeads);
  }
  const given = config.number('num_key_value_heads', 'num_kv_heads', 'n_head_kv', 'attn_config.kv_n_heads');
  if (given !== null) return given;
  if (config.flag(false, 'multi_query', 'multi_query_attention')) return 1;
  if (family.name === 'Gemma 3' && config.isNested) return config.orDefault(4, 'num_key_value_heads');
  return numHeads;
}

function headCount(config: ConfigReader, family: Family): number {
  if (family.name === 'Gemma 3' && !config.has(...HEADS)) return config.orDefault(8, 'num_attention_heads');
  return config.need('number of attention heads', ...HEADS);
}

function headWidth(config: ConfigReader, family: Family, hiddenSize: number, numHeads: number): number {
  const given = config.number('head_dim', 'attention_head_dim', 'kv_channels');
  if (given !== null) return given;
  if (family.name.startsWith('Gemma')) return config.orDefault(256, 'head_dim');
  if (family.name === 'Qwen3' && !Number.isInteger(hiddenSize / numHeads)) return config.orDefault(128, 'head_dim');
  const width = hiddenSize / numHeads;
  if (Number.isInteger(width)) return width;
  throw new AppError('invalid-field', `head_dim: ${hiddenSize} does not divide over ${numHeads} heads`, {
    path: 'head_dim',
    remedy: 'Give head_dim.',
  });
}

/** The attention that most layers have. */
export function attentionOf(config: ConfigReader, family: Family, hiddenSize: number): MixerOf<'attention'> {
  const numHeads = headCount(config, family);
  return {
    type: 'attention',
    numHeads,
    numKvHeads: kvHeads(config, family, numHeads),
    headDim: headWidth(config, family, hiddenSize, numHeads),
    valueHeadDim: config.number('v_head_dim'),
    qkvBias: family.qkvBias,
    outputBias: family.outputBias,
    qkNorm: family.qkNorm,
    outputGate: config.flag(
      /^Qwen3(Next|_5)/.test(config.names.architecture),
      'attn_output_gate',
      'attention_output_gate',
    ),
    sharedKeyValue: false,
    window: null,
    sinks: family.name === 'gpt-oss',
  };
}

function mlaOf(config: ConfigReader, hiddenSize: number): MixerOf<'mla'> {
  const numIndexHeads = config.number('index_n_heads');
  const numHeads = config.need('number of attention heads', ...HEADS);
  // MiniCPM3 leaves the value heads' width out: hidden size over heads
  const valueDim = config.number('v_head_dim') ?? hiddenSize / numHeads;
  return {
    type: 'mla',
    numHeads,
    qLoraRank: config.number('q_lora_rank'),
    kvLoraRank: config.need('width of the key/value latent', 'kv_lora_rank'),
    qkNopeHeadDim: config.need('width of a head without positions', 'qk_nope_head_dim'),
    qkRopeHeadDim: config.number('qk_rope_head_dim') ?? 0,
    vHeadDim: Number.isInteger(valueDim) ? valueDim : config.need('width of a value head', 'v_head_dim'),
    outputGate: false,
    window: null,
    indexer:
      numIndexHeads === null
        ? null
        : {
            numHeads: numIndexHeads,
            headDim: config.need('width of an index head', 'index_head_dim'),
            topK: config.need('number of keys that the indexer picks', 'index_topk'),
          },
  };
}

function mamba2Of(config: ConfigReader, hiddenSize: number): MixerOf<'mamba2'> {
  const headDim = config.number('mamba_head_dim', 'mamba_d_head') ?? config.number('head_dim') ?? 64;
  const expand = config.number('expand', 'mamba_expand') ?? 2;
  return {
    type: 'mamba2',
    numHeads: config.number('mamba_num_heads', 'mamba_n_heads', 'num_heads') ?? (expand * hiddenSize) / headDim,
    headDim,
    stateSize: config.number('ssm_state_size', 'state_size', 'mamba_d_state') ?? 128,
    numGroups: config.number('n_groups', 'mamba_n_groups') ?? 1,
    convKernel: config.number('conv_kernel', 'mamba_d_conv') ?? 4,
    convBias: config.flag(true, 'use_conv_bias', 'mamba_conv_bias'),
    projectionBias: config.flag(false, 'mamba_proj_bias', 'use_bias'),
  };
}

function mamba1Of(config: ConfigReader, hiddenSize: number): MixerOf<'mamba1'> {
  const expand = config.number('expand', 'mamba_expand') ?? 2;
  const rank = config.number('time_step_rank', 'mamba_dt_rank');
  return {
    type: 'mamba1',
    // intermediate_size is the Mamba width in pure Mamba files, a feed-forward width in hybrids
    innerSize: config.has('mamba_expand')
      ? expand * hiddenSize
      : (config.number('d_inner', 'intermediate_size') ?? expand * hiddenSize),
    stateSize: config.number('state_size', 'mamba_d_state') ?? 16,
    dtRank: rank ?? Math.ceil(hiddenSize / 16),
    convKernel: config.number('conv_kernel', 'mamba_d_conv') ?? 4,
    convBias: config.flag(true, 'use_conv_bias', 'mamba_conv_bias'),
    projectionBias: config.flag(false, 'use_bias', 'mamba_proj_bias'),
  };
}

function gatedDeltaOf(config: ConfigReader): MixerOf<'gated-delta'> {
  return {
    type: 'gated-delta',
    numKeyHeads: config.need('number of key heads', 'linear_num_key_heads'),
    numValueHeads: config.need('number of value heads', 'linear_num_value_heads'),
    keyHeadDim: config.need('width of a key head', 'linear_key_head_dim'),
    valueHeadDim: config.need('width of a value head', 'linear_value_head_dim'),
    convKernel: config.number('linear_conv_kernel_dim') ?? 4,
  };
}

function kimiDeltaOf(config: ConfigReader): MixerOf<'kimi-delta'> {
  const name = 'linear_attn_config';
  return {
    type: 'kimi-delta',
    numHeads: config.need('number of delta attention heads', `${name}.num_heads`, 'linear_num_heads'),
    headDim: config.need('width of a delta attention head', `${name}.head_dim`, 'linear_head_dim'),
    convKernel: config.number(`${name}.short_conv_kernel_size`, 'linear_conv_kernel_dim') ?? 4,
  };
}

/** DeepSeek-V4: each layer's ratio says what it compresses; 4 comes with the indexer. */
function compressedOf(config: ConfigReader, layer: number): MixerOf<'compressed'> {
  const ratio = Number(config.list('compress_ratios')?.[layer] ?? 0);
  const isIndexed = ratio > 0 && ratio < INDEXED_BELOW && config.has('index_n_heads');
  return {
    type: 'compressed',
    numHeads: config.need('number of attention heads', ...HEADS),
    headDim: config.need('width of a head', 'head_dim'),
    qLoraRank: config.need('width of the query latent', 'q_lora_rank'),
    outputGroups: config.need('number of output groups', 'o_groups'),
    outputLoraRank: config.need('width of the output latent', 'o_lora_rank'),
    window: config.need('window', 'sliding_window'),
    ratio: ratio > 0 ? ratio : null,
    indexer: isIndexed
      ? {
          numHeads: config.need('number of index heads', 'index_n_heads'),
          headDim: config.need('width of an index head', 'index_head_dim'),
          topK: config.need('number of keys that the indexer picks', 'index_topk'),
        }
      : null,
  };
}

/** Sparse layers compress few tokens into one and pick among them; the others compress many and see all. */
const INDEXED_BELOW = 128;

type Name = 'full' | 'window' | 'linear' | 'mamba' | 'conv' | 'none';

/** Names of hybrid and attention patterns in the files' own words. */
const words: Readonly<Record<string, Name>> = {
  full_attention: 'full',
  attention: 'full',
  sliding_attention: 'window',
  chunked_attention: 'window',
  linear_attention: 'linear',
  mamba: 'mamba',
  conv: 'conv',
  global: 'full',
  local: 'window',
  moe: 'none',
  mlp: 'none',
};
const letters: Readonly<Record<string, Name>> = { M: 'mamba', '*': 'full', '-': 'none', E: 'none' };

function fromPattern(config: ConfigReader, layer: number): Name | null {
  const pattern = config.string('hybrid_override_pattern', 'hybrid_layer_pattern');
  if (pattern !== null) return letters[pattern.replaceAll('|', '').charAt(layer)] ?? null;
  const types = config.list('layers_block_type', 'layer_types');
  if (types !== null) {
    const word = words[String(types[layer])] ?? null;
    // newer files call every layer with a state "linear attention"
    return word === 'linear' && config.has('mamba_num_heads', 'mamba_n_heads', 'mamba_d_state') ? 'mamba' : word;
  }
  const hybrid = config.list('hybrid_layer_pattern');
  if (hybrid !== null) return hybrid[layer] === 1 ? 'window' : 'full';
  const kinds = config.list('attn_type_list');
  if (kinds !== null) return kinds[layer] === 1 ? 'full' : 'linear';
  return fromLists(config, layer);
}

/** Lists that number the layers of one kind, or repeat a short pattern. */
function fromLists(config: ConfigReader, layer: number): Name | null {
  const attention = config.list('attn_layer_indices');
  if (attention !== null) return attention.includes(layer) ? 'full' : 'mamba';
  // numbered from 1
  const full = config.list('linear_attn_config.full_attn_layers');
  if (full !== null) return full.includes(layer + 1) ? 'full' : 'linear';
  const numbered = config.list('full_attn_idxs');
  if (numbered !== null) return numbered.includes(layer) ? 'full' : 'conv';
  const repeats = config.list('attention_types');
  if (repeats === null) return null;
  const all = repeats.flatMap((item) => {
    const [names, times] = Array.isArray(item) ? (item as unknown[]) : [];
    return Array.isArray(names) ? Array.from({ length: Number(times) || 0 }, () => names as unknown[]).flat() : [];
  });
  return words[String(all[layer])] ?? null;
}

function fromPeriods(config: ConfigReader, family: Family, layer: number): Name {
  if (family.name === 'Mamba') return 'mamba';
  const attentionPeriod = config.number('attn_layer_period');
  if (attentionPeriod !== null)
    return layer % attentionPeriod === (config.number('attn_layer_offset') ?? 0) ? 'full' : 'mamba';
  const interval = config.number('full_attention_interval');
  if (interval !== null && config.has('linear_num_value_heads'))
    return (layer + 1) % interval === 0 ? 'full' : 'linear';
  // a hybrid that says of no layer that it is attention
  if (config.has('mamba_d_state', 'mamba_n_heads')) return 'mamba';
  const windowEvery = config.number('sliding_window_pattern', '_sliding_window_pattern');
  if (windowEvery !== null && config.number('sliding_window') !== null)
    return (layer + 1) % windowEvery === 0 ? 'full' : 'window';
  if (family.name === 'Gemma 3') return (layer + 1) % 6 === 0 ? 'full' : 'window';
  if (family.name === 'Gemma 2') return layer % 2 === 0 ? 'window' : 'full';
  if (family.name === 'Llama 4') return (layer + 1) % 4 === 0 ? 'full' : 'window';
  if (config.number('sliding_window') === null || !config.flag(true, 'use_sliding_window')) return 'full';
  // a window counts only from max_window_layers on where the file has that key (Qwen2)
  return layer < (config.number('max_window_layers') ?? 0) ? 'full' : 'window';
}

/** The window of a layer: heads and widths may be its own (MiMo-V2, Gemma 4). */
function windowed(config: ConfigReader, base: MixerOf<'attention'>): MixerOf<'attention'> {
  return {
    ...base,
    numHeads: config.number('swa_num_attention_heads') ?? base.numHeads,
    numKvHeads: config.number('swa_num_key_value_heads') ?? base.numKvHeads,
    headDim: config.number('swa_head_dim') ?? base.headDim,
    valueHeadDim: config.number('swa_v_head_dim') ?? base.valueHeadDim,
    window: config.number('sliding_window', 'attention_chunk_size', 'sliding_window_size', 'window_size'),
    sinks: base.sinks || config.flag(false, 'add_swa_attention_sink_bias'),
  };
}

function global(config: ConfigReader, base: MixerOf<'attention'>): MixerOf<'attention'> {
  return {
    ...base,
    headDim: config.number('global_head_dim') ?? base.headDim,
    numKvHeads: config.number('num_global_key_value_heads') ?? base.numKvHeads,
    sharedKeyValue: config.flag(false, 'attention_k_eq_v'),
    sinks: base.sinks || config.flag(false, 'add_full_attention_sink_bias'),
  };
}

function recurrent(config: ConfigReader, family: Family, hiddenSize: number): Mixer {
  if (family.name === 'Jamba' || (family.name === 'Mamba' && !/^Mamba2/i.test(config.names.architecture)))
    return mamba1Of(config, hiddenSize);
  return mamba2Of(config, hiddenSize);
}

/** The mixer of each layer, in order. */
export function mixersOf(config: ConfigReader, family: Family, hiddenSize: number, numLayers: number): Mixer[] {
  const isLatent = config.has('kv_lora_rank');
  let base: MixerOf<'attention'> | null = null;
  const attention = () => (base ??= attentionOf(config, family, hiddenSize));
  const sharedIndex = config.list('indexer_types');
  return Array.from({ length: numLayers }, (_, layer): Mixer => {
    if (config.has('compress_ratios')) return compressedOf(config, layer);
    const name = fromPattern(config, layer) ?? fromPeriods(config, family, layer);
    if (name === 'none') return { type: 'none' };
    if (name === 'mamba') return recurrent(config, family, hiddenSize);
    if (name === 'conv')
      return { type: 'short-conv', kernel: config.number('conv_L_cache') ?? 3, bias: config.flag(false, 'conv_bias') };
    if (name === 'linear' && family.name === 'Kimi Linear') return kimiDeltaOf(config);
    if (name === 'linear')
      return config.has('linear_num_value_heads')
        ? gatedDeltaOf(config)
        : { type: 'linear-attention', numHeads: attention().numHeads, headDim: attention().headDim };
    if (isLatent) {
      const mla = mlaOf(config, hiddenSize);
      return sharedIndex?.[layer] === 'shared' ? { ...mla, indexer: null } : mla;
    }
    return name === 'window' ? windowed(config, attention()) : global(config, attention());
  });
}
