/**
 * What each family of model classes does that its configuration does not say: norms, biases, gates, positions, and the
 * defaults of its class. Source: the configuration and modelling classes of Hugging Face transformers (5.18), checked by
 * parameter counts (testing/configs.json); traps from docs/MODELS.md.
 */
import type { Model } from '../../schema/index.ts';
import type { ConfigReader } from './config.ts';

export interface Family {
  name: string;
  style: Model['family'];
  gated: boolean;
  normalization: Model['normalization'];
  /** Norms over the hidden size per layer. */
  norms: number;
  /** Attention and feed-forward part read the same input. */
  parallel: boolean;
  positions: Model['positions'];
  tied: boolean;
  qkvBias: boolean;
  outputBias: boolean;
  ffnBias: boolean;
  qkNorm: 'none' | 'head' | 'full';
  headBias: boolean;
  embeddingNorm: boolean;
  /** Inner width of the feed-forward part over the hidden size where the file gives none. */
  ffnRatio: number | null;
}

const llama: Family = {
  name: 'Llama',
  style: 'llama',
  gated: true,
  normalization: 'rmsnorm',
  norms: 2,
  parallel: false,
  positions: 'rotary',
  tied: false,
  qkvBias: false,
  outputBias: false,
  ffnBias: false,
  qkNorm: 'none',
  headBias: false,
  embeddingNorm: false,
  ffnRatio: null,
};

const gpt: Family = {
  ...llama,
  name: 'GPT',
  style: 'gpt',
  gated: false,
  normalization: 'layernorm',
  positions: 'learned',
  tied: true,
  qkvBias: true,
  outputBias: true,
  ffnBias: true,
  ffnRatio: 4,
};

type Read = (config: ConfigReader) => Family;

/** Biases of all four attention projections where the file asks for them. */
const withAttentionBias = (family: Family, config: ConfigReader): Family => {
  const bias = config.flag(family.qkvBias, 'attention_bias', 'qkv_bias');
  return { ...family, qkvBias: bias, outputBias: bias, ffnBias: config.flag(family.ffnBias, 'mlp_bias') };
};

const phi3: Read = () => ({ ...llama, name: 'Phi-3' });
const qwen2: Read = (config) => ({
  ...llama,
  name: 'Qwen2',
  // the class has biases on queries, keys and values whatever attention_bias says
  qkvBias: config.flag(true, 'qkv_bias'),
});
const qwen3: Read = (config) => ({ ...withAttentionBias(llama, config), name: 'Qwen3', qkNorm: 'head' });
const glm: Read = (config) => ({
  ...llama,
  name: 'GLM-4',
  qkvBias: config.flag(false, 'attention_bias'),
});

const falcon: Read = (config) => {
  const isNew = config.flag(false, 'new_decoder_architecture');
  const isParallel = isNew || config.flag(true, 'parallel_attn');
  const bias = config.flag(false, 'bias');
  return {
    ...gpt,
    name: 'Falcon',
    positions: config.flag(false, 'alibi') ? 'alibi' : 'rotary',
    parallel: isParallel,
    norms: isNew ? (config.number('num_ln_in_parallel_attn') ?? 2) : isParallel ? 1 : 2,
    qkvBias: bias,
    outputBias: bias,
    ffnBias: bias,
  };
};

const cohere: Read = (config) => ({
  ...llama,
  name: 'Cohere',
  normalization: 'layernorm-no-bias',
  norms: 1,
  parallel: true,
  tied: true,
  // Cohere scales queries and keys of every head apart
  qkNorm: config.flag(false, 'use_qk_norm') ? 'full' : 'none',
  qkvBias: config.flag(false, 'attention_bias'),
  outputBias: config.flag(false, 'attention_bias'),
});

const starcoder2: Read = (config) => {
  const bias = config.flag(true, 'use_bias');
  return { ...gpt, name: 'StarCoder2', positions: 'rotary', qkvBias: bias, outputBias: bias, ffnBias: bias };
};

const stablelm: Read = (config) => ({
  ...llama,
  name: 'StableLM',
  normalization: 'layernorm',
  qkvBias: config.flag(false, 'use_qkv_bias'),
  parallel: config.flag(false, 'use_parallel_residual'),
  norms: config.flag(false, 'use_parallel_residual') ? 1 : 2,
  // every head has a scale of its own
  qkNorm: config.flag(false, 'qk_layernorm') ? 'full' : 'none',
});

const seedOss: Read = (config) => ({
  ...llama,
  name: 'Seed-OSS',
  qkvBias: config.flag(true, 'attention_bias'),
  outputBias: config.flag(false, 'attention_out_bias'),
  ffnBias: config.flag(false, 'mlp_bias'),
});

/** One flag for the biases of all linear maps (ERNIE 4.5), or of all four in attention (InternLM). */
const ernie: Read = (config) => {
  const bias = config.flag(false, 'use_bias');
  return { ...llama, name: 'ERNIE 4.5', tied: true, qkvBias: bias, outputBias: bias, ffnBias: bias };
};
const internLm: Read = (config) => {
  const bias = config.flag(false, 'bias');
  return { ...llama, name: 'InternLM', qkvBias: config.flag(bias, 'qkv_bias'), outputBias: bias };
};

const gptNeox: Read = (config) => {
  const bias = config.flag(true, 'attention_bias');
  return {
    ...gpt,
    name: 'GPT-NeoX',
    positions: 'rotary',
    tied: false,
    parallel: config.flag(true, 'use_parallel_residual'),
    qkvBias: bias,
    outputBias: bias,
  };
};

const gemma = (name: string, norms: number, qkNorm: Family['qkNorm']): Read => {
  return (config) => ({ ...withAttentionBias(llama, config), name, norms, qkNorm, tied: true, ffnBias: false });
};

/**
 * Families by the class that loads the file, first match first. A class that is not here is read as Llama style where
 * its fields allow it, with a warning.
 */
const table: readonly (readonly [RegExp, Read])[] = [
  [/^GPT2|GPTBigCode/i, () => ({ ...gpt, name: 'GPT-2' })],
  [
    /^GPTJ/i,
    () => ({
      ...gpt,
      name: 'GPT-J',
      positions: 'rotary',
      norms: 1,
      parallel: true,
      tied: false,
      qkvBias: false,
      outputBias: false,
      headBias: true,
    }),
  ],
  [
    /^CodeGen/i,
    () => ({
      ...gpt,
      name: 'CodeGen',
      positions: 'rotary',
      norms: 1,
      parallel: true,
      tied: false,
      qkvBias: false,
      outputBias: false,
      headBias: true,
    }),
  ],
  [/^GPTNeoX/i, gptNeox],
  [/^GPTNeo/i, () => ({ ...gpt, name: 'GPT-Neo', qkvBias: false })],
  [/^Bloom/i, () => ({ ...gpt, name: 'BLOOM', positions: 'alibi', embeddingNorm: true })],
  [
    /^OPT/i,
    (config) => ({
      ...gpt,
      name: 'OPT',
      normalization: config.flag(true, 'layer_norm_elementwise_affine') ? 'layernorm' : 'layernorm-plain',
      qkvBias: config.flag(true, 'enable_bias'),
      outputBias: config.flag(true, 'enable_bias'),
      ffnBias: config.flag(true, 'enable_bias'),
    }),
  ],
  [
    /^(Mpt|MPT)/,
    () => ({
      ...gpt,
      name: 'MPT',
      positions: 'alibi',
      normalization: 'layernorm-no-bias',
      qkvBias: false,
      outputBias: false,
      ffnBias: false,
    }),
  ],
  [/^(Dbrx)/i, () => ({ ...llama, name: 'DBRX', normalization: 'layernorm-no-bias' })],
  [/^(Falcon(?!Mamba|H1)|RW)/i, falcon],
  [
    /^PhiMoE|^PhimoeForCausalLM/i,
    (config) => ({
      ...withAttentionBias(llama, config),
      name: 'Phi-3.5-MoE',
      normalization: 'layernorm',
      headBias: config.flag(false, 'lm_head_bias'),
    }),
  ],
  [/^Phi3|^Phi4/i, phi3],
  [
    /^Phi(?!3|4|moe)/i,
    () => ({ ...gpt, name: 'Phi', positions: 'rotary', norms: 1, parallel: true, tied: false, headBias: true }),
  ],
  [/^Cohere/i, cohere],
  [/^Starcoder2/i, starcoder2],
  [/^StableLm/i, stablelm],
  [
    /^Nemotron(?!H)(ForCausalLM|Model)?$/i,
    (config) => ({ ...withAttentionBias(llama, config), name: 'Nemotron', gated: false, normalization: 'layernorm' }),
  ],
  [/^Gemma2/i, gemma('Gemma 2', 4, 'none')],
  [/^Gemma3/i, gemma('Gemma 3', 4, 'head')],
  [/^Gemma4/i, gemma('Gemma 4', 4, 'head')],
  [/^Gemma/i, gemma('Gemma', 2, 'none')],
  [
    /^Glm4Moe(?!Lite)|^GlmMoe(?!Dsa)/i,
    (config) => ({ ...glm(config), name: 'GLM-4.5', qkNorm: config.flag(false, 'use_qk_norm') ? 'head' : 'none' }),
  ],
  [/^Glm4(?!Moe)/i, (config) => ({ ...glm(config), norms: 4 })],
  [/^Glm(?!Moe)/i, glm],
  [/^Qwen2|^MiMoForCausalLM|^Qwen1/i, qwen2],
  [/^Qwen3|^MiMoV2(?!Flash)/i, qwen3],
  [
    /^(OLMo|hf_olmo|Olmo)(ForCausalLM|ModelForCausalLM)?$/i,
    (config) => ({
      ...withAttentionBias(llama, config),
      name: 'OLMo',
      normalization: 'layernorm-plain',
      tied: config.flag(false, 'weight_tying'),
    }),
  ],
  [/^Olmo[23]/i, (config) => ({ ...withAttentionBias(llama, config), name: 'OLMo 2', qkNorm: 'full' })],
  [/^Olmoe|^FlexOlmo/i, (config) => ({ ...withAttentionBias(llama, config), name: 'OLMoE', qkNorm: 'full' })],
  [
    /^MiniMaxM2/i,
    (config) => ({ ...llama, name: 'MiniMax-M2', qkNorm: config.flag(true, 'use_qk_norm') ? 'full' : 'none' }),
  ],
  [/^MiniMax/i, () => ({ ...llama, name: 'MiniMax-01' })],
  [/^GptOss/i, (config) => withAttentionBias({ ...llama, name: 'gpt-oss', qkvBias: true, outputBias: true }, config)],
  [/^Llama4/i, (config) => ({ ...withAttentionBias(llama, config), name: 'Llama 4' })],
  [
    /^FalconMamba|^Mamba2?(ForCausalLM|Model)?$/i,
    (config) => ({
      ...llama,
      name: 'Mamba',
      norms: 1,
      positions: 'none',
      tied: !/^Mamba2/i.test(config.names.architecture),
    }),
  ],
  [/^NemotronH/i, () => ({ ...llama, name: 'Nemotron-H', norms: 1, gated: false })],
  [
    /^(Deepseek|DeepSeek|Kimi(?!Linear)|GlmMoeDsa|Glm4MoeLite)/i,
    (config) => ({
      ...llama,
      name: 'DeepSeek',
      qkvBias: config.flag(false, 'attention_bias'),
      outputBias: config.flag(false, 'attention_bias'),
    }),
  ],
  [
    /^(Mixtral|Grok|Mistral|Ministral|MiMoV2Flash|Jamba)/i,
    (config) => ({ ...llama, name: config.names.architecture.replace(/(Model)?For.*$/, '') }),
  ],
  [/^Helium/i, (config) => ({ ...withAttentionBias(llama, config), name: 'Helium', outputBias: false })],
  [/^Step3p/i, () => ({ ...llama, name: 'Step 3.7', qkNorm: 'head' })],
  [/^Seed/i, seedOss],
  [/^Ernie4_?5/i, ernie],
  [/^InternLM/i, internLm],
  [/^SmolLM3/i, (config) => ({ ...withAttentionBias(llama, config), name: 'SmolLM3', tied: true })],
  [/^Exaone4|^ExaoneMoe/i, () => ({ ...llama, name: 'EXAONE 4', qkNorm: 'head' })],
  [/^Dots1/i, (config) => ({ ...withAttentionBias(llama, config), name: 'dots.llm1', qkNorm: 'head' })],
  [/^HunYuan/i, (config) => ({ ...withAttentionBias(llama, config), name: 'Hunyuan', qkNorm: 'head' })],
  [/^Apertus/i, (config) => ({ ...withAttentionBias(llama, config), name: 'Apertus', gated: false, qkNorm: 'head' })],
  [/^Arcee/i, (config) => ({ ...withAttentionBias(llama, config), name: 'Arcee', gated: false })],
  [/^Lfm2/i, () => ({ ...llama, name: 'LFM2', tied: true, qkNorm: 'head' })],
  [/^KimiLinear/i, () => ({ ...llama, name: 'Kimi Linear' })],
  [
    /^(Llama|DeciLM|Yi|SmolLM|Granite|Exaone|Baichuan|Bamba|MiniCPM3|Cwm)/i,
    (config) => withAttentionBias(llama, config),
  ],
];

/** Classes that this reader knows it cannot describe exactly, and why. */
const notCovered: readonly (readonly [RegExp, string])[] = [
  [/^KimiK3/i, 'Kimi-K3: attention over residual streams is not among the layer kinds'],
  [/^MiniMaxM3/i, 'MiniMax-M3: block-sparse attention with an index branch is not among the layer kinds'],
  [/^FalconH1|^Hymba/i, 'attention and state-space heads side by side in one layer are not among the layer kinds'],
  [/^Zamba/i, 'Zamba: blocks that share one set of weights are not among the layer kinds'],
  [/^RecurrentGemma|^Griffin/i, 'gated linear recurrences (RG-LRU) are not among the layer kinds'],
  [/^Gemma3n/i, 'Gemma 3n: alternating updates and per-layer embeddings are not among the layer kinds'],
  [
    /^(LongcatFlash|JetMoe|Zaya|Afmoe|NanoChat|Persimmon|BitNet|DiffLlama|OlmoHybrid|Doge|XGLM|Moshi|Emu3|Arctic|Snowflake)/,
    'layers of this class differ from the layer kinds in ways that this reader does not know',
  ],
  [/^(Rwkv|xLSTM|RetNet)/i, 'this recurrence is not among the layer kinds'],
  [
    /^(T5|MT5|UMT5|Bart|MBart|Pegasus|Marian|M2M100|Nllb|Switch|LongT5|Whisper|Blenderbot|Prophet|LED)/i,
    'a model of encoder and decoder is not among the layer kinds; only decoders are planned',
  ],
  [
    /^(Bert|Roberta|XLMRoberta|Camembert|Electra|Deberta|Albert|DistilBert|ModernBert|Longformer|BigBird|NomicBert|ViT|Clip|CLIP|Siglip|Wav2Vec|Hubert)/,
    'an encoder is not among the layer kinds; only decoders are planned',
  ],
];

/** Keys of structures that a Llama-style reading of an unknown class would lose without a word. */
const strange =
  /^(mamba_|ssm_|rwkv|lru_|rnn_|kda_|linear_attn_config|linear_num_|altup_|laurel_|conv_L_cache|hc_mult|is_encoder_decoder$|num_decoder_layers|block_types|attn_layer_indices)/;

/** Why a class cannot be read; the outer class of a multimodal file counts too. */
function uncoveredReason(config: ConfigReader, names: readonly string[]): string | null {
  if ((config.number('hidden_size_per_layer_input') ?? 0) > 0)
    return 'embeddings of their own for every layer (hidden_size_per_layer_input) are not among the layer kinds';
  const outer = config.root.architectures;
  const all = [...names, ...(Array.isArray(outer) ? outer.map(String) : [])];
  return notCovered.find(([pattern]) => all.some((name) => pattern.test(name)))?.[1] ?? null;
}

/** The family of a configuration. `uncovered` says why it cannot be read; a class nobody knows is read as Llama. */
export function familyOf(config: ConfigReader): { family: Family; uncovered: string | null; isKnown: boolean } {
  const { architecture, modelType } = config.names;
  const names = [architecture, modelType.replaceAll('_', '')].filter((name) => name !== '');
  const reason = uncoveredReason(config, names);
  if (reason !== null) return { family: llama, uncovered: reason, isKnown: true };
  for (const name of names) {
    const found = table.find(([pattern]) => pattern.test(name));
    if (found !== undefined) return { family: found[1](config), uncovered: null, isKnown: true };
  }
  const key = Object.keys(config.text).find((name) => strange.test(name) && Boolean(config.text[name]));
  if (key !== undefined)
    return {
      family: llama,
      uncovered: `the class ${architecture || modelType} is not known, and what its ${key} describes is not among the layer kinds`,
      isKnown: false,
    };
  return { family: withAttentionBias(llama, config), uncovered: null, isKnown: false };
}
