/**
 * What a class takes where its file is silent: class-defaults.json, by the class that loads the file. A default stands back
 * where the file says the same thing under another name.
 */
import file from './class-defaults.json' with { type: 'json' };

const classes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = file.classes;

/** Names of one thing each. */
const aliases: readonly (readonly string[])[] = [
  ['vocab_size', 'padded_vocab_size', 'embedding_size'],
  ['num_attention_heads', 'n_head', 'n_heads', 'num_heads'],
  ['num_key_value_heads', 'num_kv_heads', 'n_head_kv', 'attn_config'],
  ['head_dim', 'attention_head_dim', 'kv_channels'],
  [
    'intermediate_size',
    'n_inner',
    'ffn_dim',
    'ffn_hidden_size',
    'mlp_hidden_size',
    'expansion_ratio',
    'mlp_ratio',
    'd_inner',
    'ffn_config',
  ],
  ['num_experts', 'num_local_experts', 'n_routed_experts', 'moe_num_experts', 'ffn_config'],
  [
    'num_experts_per_tok',
    'num_experts_per_token',
    'experts_per_token',
    'top_k_experts',
    'moe_top_k',
    'moe_topk',
    'moe_k',
    'ffn_config',
  ],
  ['moe_intermediate_size', 'expert_ffn_hidden_size'],
  ['n_shared_experts', 'num_shared_experts', 'num_shared_expert', 'moe_num_shared_experts'],
  [
    'shared_expert_intermediate_size',
    'moe_shared_expert_intermediate_size',
    'share_expert_dim',
    'shared_intermediate_size',
  ],
  ['mamba_num_heads', 'mamba_n_heads'],
  ['mamba_head_dim', 'mamba_d_head'],
  ['ssm_state_size', 'state_size', 'mamba_d_state'],
  ['conv_kernel', 'mamba_d_conv', 'conv_L_cache'],
  ['expand', 'mamba_expand'],
  ['n_groups', 'mamba_n_groups'],
  ['use_conv_bias', 'mamba_conv_bias'],
  ['linear_conv_kernel_dim', 'linear_attn_config'],
  ['tie_word_embeddings', 'weight_tying'],
];

/** Defaults of the class for the keys that the file has under no name; a null in the file is a value. */
export function absentDefaults(
  architecture: string,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isSaid = (key: string): boolean =>
    (aliases.find((names) => names.includes(key)) ?? [key]).some((name) => fields[name] !== undefined);
  return Object.fromEntries(Object.entries(classes[architecture] ?? {}).filter(([key]) => !isSaid(key)));
}
