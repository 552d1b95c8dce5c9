/** Which feed-forward part each layer of a configuration has: dense, experts, or none. */
import type { Ffn, FfnOf } from '../../schema/index.ts';
import type { ConfigReader } from './config.ts';
import type { Family } from './families.ts';

const EXPERTS = [
  'num_experts',
  'num_local_experts',
  'n_routed_experts',
  'ffn_config.moe_num_experts',
  'moe_num_experts',
] as const;
const TOP_K = [
  'num_experts_per_tok',
  'num_experts_per_token',
  'experts_per_token',
  'top_k_experts',
  'moe_top_k',
  'moe_topk',
  'moe_k',
  'ffn_config.moe_top_k',
] as const;

/** Families whose intermediate_size is the width of an expert, not of a dense part. */
const EXPERT_WIDTH_IS_INTERMEDIATE =
  /^(Mixtral|Grok1|Grok|OLMoE|MiniMax|gpt-oss|Phi-3.5-MoE|Llama 4|Jamba|GraniteMoe|Granitemoe)/i;

/** LFM2 takes two thirds of what its file gives, times a factor, up to a multiple. */
function lfm2Width(config: ConfigReader, given: number): number {
  if (!config.flag(true, 'block_auto_adjust_ff_dim')) return given;
  const factor = config.number('block_ffn_dim_multiplier') ?? 1;
  const multiple = config.number('block_multiple_of') ?? 256;
  return multiple * Math.ceil(Math.trunc(factor * Math.trunc((2 * given) / 3)) / multiple);
}

function denseWidth(config: ConfigReader, family: Family, hiddenSize: number): number {
  // OLMo-1 gives gate and up together
  const both = config.number('mlp_hidden_size');
  if (both !== null) return family.gated ? both / 2 : both;
  // where dense layers have a width of their own, intermediate_size is an expert's
  const dense = config.number('intermediate_size_mlp', 'dense_intermediate_size');
  if (dense !== null) return dense;
  const given = config.number(
    'intermediate_size',
    'n_inner',
    'ffn_dim',
    'ffn_hidden_size',
    'ffn_config.ffn_hidden_size',
  );
  if (given !== null) return family.name === 'LFM2' ? lfm2Width(config, given) : given;
  const ratio = config.number('expansion_ratio', 'mlp_ratio');
  if (ratio !== null) return ratio * hiddenSize;
  if (family.ffnRatio === null) return config.need('width of the feed-forward part', 'intermediate_size');
  config.assumed.push(`intermediate_size: ${family.ffnRatio} × hidden size (the class's default)`);
  return family.ffnRatio * hiddenSize;
}

function expertsOf(config: ConfigReader, family: Family): FfnOf<'moe'> | null {
  const numExperts = config.number(...EXPERTS);
  if (numExperts === null || numExperts < 2) return null;
  const own = config.number('moe_intermediate_size', 'expert_ffn_hidden_size', 'ffn_config.ffn_hidden_size');
  const isIntermediate = own === null || EXPERT_WIDTH_IS_INTERMEDIATE.test(family.name);
  const expertWidth = isIntermediate ? (own ?? config.need('width of an expert', 'intermediate_size')) : own;
  const sharedGate = /^Qwen(2Moe|3Next|3_5)/.test(config.names.architecture);
  return {
    type: 'moe',
    numExperts,
    expertsPerToken: config.need('number of experts per token', ...TOP_K),
    expertWidth,
    gated: family.gated,
    bias: family.name === 'gpt-oss',
    sharedWidth: sharedWidth(config, family, expertWidth),
    sharedGate,
    latentSize: config.number('moe_latent_size', 'routed_expert_hidden_size'),
    routerBias: family.name === 'gpt-oss' || family.name === 'ERNIE 4.5',
  };
}

/** Width of the shared experts together: given as a width, or as a number of experts. */
function sharedWidth(config: ConfigReader, family: Family, expertWidth: number): number {
  if (family.name === 'Llama 4') return config.need('width of the shared expert', 'intermediate_size');
  const width = config.number(
    'moe_shared_expert_intermediate_size',
    'shared_expert_intermediate_size',
    'share_expert_dim',
    'shared_intermediate_size',
  );
  if (width !== null) return width;
  return (
    (config.number('n_shared_experts', 'num_shared_experts', 'moe_num_shared_experts', 'num_shared_expert') ?? 0) *
    expertWidth
  );
}

/** Whether a layer has experts, by whichever of the families' patterns the file uses. */
function isExpertLayer(config: ConfigReader, layer: number): boolean {
  const types = config.list('mlp_layer_types');
  if (types !== null) return types[layer] === 'sparse';
  const frequency = config.any('moe_layer_freq');
  if (Array.isArray(frequency)) return frequency[layer] === 1;
  const dense = config.list('mlp_only_layers');
  if (dense?.includes(layer) === true) return false;
  const listed = config.list('moe_layers');
  if (listed !== null) return listed.includes(layer);
  const period = config.number('expert_layer_period');
  if (period !== null) return layer % period === (config.number('expert_layer_offset') ?? 0);
  const first = config.number('first_k_dense_replace', 'moe_layer_start_index') ?? 0;
  if (layer < first || layer > (config.number('moe_layer_end_index') ?? layer)) return false;
  const step = config.number('decoder_sparse_step', 'interleave_moe_layer_step', 'moe_layer_interval');
  if (step !== null) return step > 0 && (layer + 1) % step === 0;
  const every = typeof frequency === 'number' ? frequency : 1;
  return layer % every === 0;
}

const blockLetters: Readonly<Record<string, 'moe' | 'dense'>> = { E: 'moe', '-': 'dense' };
const blockWords: Readonly<Record<string, 'moe' | 'dense'>> = { moe: 'moe', mlp: 'dense' };

/** Hybrids whose layers are one part each say which layers are feed-forward parts. */
function onlyPart(config: ConfigReader, layer: number): 'moe' | 'dense' | 'none' | null {
  const pattern = config.string('hybrid_override_pattern');
  if (pattern !== null) return blockLetters[pattern.replaceAll('|', '').charAt(layer)] ?? 'none';
  const types = config.list('layers_block_type', 'layer_types');
  if (types !== null && types.some((type) => type === 'moe' || type === 'mlp'))
    return blockWords[String(types[layer])] ?? 'none';
  return null;
}

/** The feed-forward part of each layer, in order. */
export function ffnsOf(config: ConfigReader, family: Family, hiddenSize: number, numLayers: number): Ffn[] {
  if (family.name === 'Mamba') return Array.from({ length: numLayers }, () => ({ type: 'none' }));
  const experts = expertsOf(config, family);
  let dense: FfnOf<'dense'> | null = null;
  const denseFfn = () =>
    (dense ??= {
      type: 'dense',
      width: denseWidth(config, family, hiddenSize),
      gated: family.gated,
      bias: family.ffnBias,
    });
  return Array.from({ length: numLayers }, (_, layer): Ffn => {
    const only = onlyPart(config, layer);
    if (only === 'none') return { type: 'none' };
    const hasExperts = only === null ? isExpertLayer(config, layer) : only === 'moe';
    return experts !== null && hasExperts ? experts : denseFfn();
  });
}
