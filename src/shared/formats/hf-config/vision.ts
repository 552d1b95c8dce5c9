/**
 * Vision towers: their parameters, from the fields of `vision_config`. Source: the vision classes of transformers (5.18):
 * SigLIP with Gemma 3's projector, Qwen-VL's tower with its mergers, Gemma 4's tower; checked by counts.
 */
import type { Model } from '../../schema/index.ts';
import type { ConfigReader } from './config.ts';

interface Tower {
  hidden: number;
  ffn: number;
  layers: number;
  heads: number;
  patch: number;
  field: (name: string, fallback: number) => number;
}

const linear = (inputs: number, outputs: number): number => inputs * outputs + outputs;

/** SigLIP: convolution over patches, learned positions, LayerNorm, biases everywhere; then a projection and its norm. */
function siglip({ hidden, ffn, layers, patch, field }: Tower, textHidden: number): number {
  const positions = Math.floor(field('image_size', 896) / patch) ** 2;
  const block = 4 * linear(hidden, hidden) + linear(hidden, ffn) + linear(ffn, hidden) + 4 * hidden;
  const projector = hidden * textHidden + hidden;
  return linear(3 * patch * patch, hidden) + positions * hidden + layers * block + 2 * hidden + projector;
}

/** Qwen-VL: patches over two frames, learned positions, and mergers of four patches into one token. */
function qwenVl({ hidden, ffn, layers, patch, field }: Tower, textHidden: number, numDeepstack: number): number {
  const merged = hidden * field('spatial_merge_size', 2) ** 2;
  const out = field('out_hidden_size', textHidden);
  const block = 4 * linear(hidden, hidden) + linear(hidden, ffn) + linear(ffn, hidden) + 4 * hidden;
  const merger = linear(merged, merged) + linear(merged, out);
  return (
    linear(field('in_channels', 3) * field('temporal_patch_size', 2) * patch * patch, hidden) +
    field('num_position_embeddings', 2304) * hidden +
    layers * block +
    (merger + 2 * hidden) +
    numDeepstack * (merger + 2 * merged)
  );
}

/** Qwen2-VL and Qwen2.5-VL: patches over two frames without positions; 2.5 has gated feed-forward parts and plain norms. */
function qwen2Vl({ hidden, ffn, layers, patch, field }: Tower, out: number, isGated: boolean): number {
  const merged = hidden * field('spatial_merge_size', 2) ** 2;
  const norm = isGated ? hidden : 2 * hidden;
  const mlp = isGated ? 2 * linear(hidden, ffn) + linear(ffn, hidden) : linear(hidden, ffn) + linear(ffn, hidden);
  const block = 4 * linear(hidden, hidden) + mlp + 2 * norm;
  const patches = field('in_chans', 3) * field('temporal_patch_size', 2) * patch * patch * hidden;
  return patches + layers * block + norm + linear(merged, merged) + linear(merged, out);
}

/** Pixtral with Mistral 3's projector: gated, no biases, and mergers of neighbouring patches. */
function pixtral({ hidden, ffn, layers, patch, field }: Tower, textHidden: number, merge: number): number {
  const block = 4 * hidden * hidden + 3 * hidden * ffn + 2 * hidden;
  const projector = hidden + merge ** 2 * hidden * hidden + hidden * textHidden + textHidden * textHidden;
  return field('num_channels', 3) * patch * patch * hidden + hidden + layers * block + projector;
}

/** Gemma 4: gated feed-forward parts, four norms, norms on queries and keys, positions along both axes. */
function gemma4({ hidden, ffn, layers, heads, patch, field }: Tower, textHidden: number): number {
  const block = 4 * hidden * hidden + 3 * hidden * ffn + 4 * hidden + 2 * (hidden / heads);
  const positions = 2 * field('position_embedding_size', 10_240) * hidden;
  return 3 * patch * patch * hidden + positions + layers * block + hidden * textHidden;
}

/** Step 3.7: LayerNorm, biases, a learned scale on both branches, two strided convolutions down to the tokens. */
function step({ hidden, ffn, layers, patch, field }: Tower, textHidden: number): number {
  const positions = Math.floor(field('image_size', 728) / patch) ** 2;
  const block = 4 * linear(hidden, hidden) + linear(hidden, ffn) + linear(ffn, hidden) + 6 * hidden;
  const down = linear(9 * hidden, 2 * hidden) + linear(9 * 2 * hidden, 4 * hidden);
  return 3 * patch * patch * hidden + positions * hidden + 2 * hidden + layers * block + down + 4 * hidden * textHidden;
}

/** What Step 3.7's class takes where the file describes no tower. */
const stepTower: Record<string, unknown> = {
  hidden_size: 1536,
  intermediate_size: 8960,
  num_hidden_layers: 47,
  num_attention_heads: 16,
};

function towerOf(vision: Record<string, unknown>): Tower | null {
  const field = (name: string, fallback: number): number => {
    const value = vision[name];
    return typeof value === 'number' ? value : fallback;
  };
  // Qwen2-VL calls its width embed_dim, and the language model's hidden_size
  const hidden = field('embed_dim', field('hidden_size', 0));
  const layers = field('num_hidden_layers', field('depth', 0));
  const ffn = field('intermediate_size', field('mlp_ratio', 0) * hidden);
  if (hidden === 0 || layers === 0 || ffn === 0) return null;
  return {
    hidden,
    layers,
    ffn,
    heads: field('num_attention_heads', field('num_heads', 16)),
    patch: field('patch_size', 14),
    field,
  };
}

/**
 * The vision tower of a multimodal class. Classes whose language model is trained and counted alone (Llama 4, Qwen3.5)
 * and towers that are not known come back null, with a warning.
 */
export function visionOf(config: ConfigReader): Model['vision'] {
  const root = config.root.architectures;
  const architecture = Array.isArray(root) ? String(root[0]) : '';
  const isStep = architecture.startsWith('Step3p7');
  const vision = config.object('vision_config') ?? (isStep ? stepTower : null);
  if (vision === null) return null;
  if (vision === stepTower) config.assumed.push("vision_config: 47 layers of 1536 (the class's default)");
  const tower = towerOf(vision);
  const textHidden = config.number('hidden_size') ?? 0;
  const count = (): number | null => {
    if (tower === null) return null;
    if (/^Qwen3VL/.test(architecture))
      return qwenVl(
        tower,
        textHidden,
        Array.isArray(vision.deepstack_visual_indexes) ? vision.deepstack_visual_indexes.length : 0,
      );
    if (isStep) return step(tower, textHidden);
    if (/^Qwen2VL/.test(architecture)) return qwen2Vl(tower, tower.field('hidden_size', textHidden), false);
    if (/^Qwen2_5_VL/.test(architecture)) return qwen2Vl(tower, tower.field('out_hidden_size', textHidden), true);
    if (/^Mistral3For/.test(architecture)) {
      const merge = config.root.spatial_merge_size;
      return pixtral(tower, textHidden, typeof merge === 'number' ? merge : 2);
    }
    if (/^Gemma3/.test(architecture)) return siglip(tower, textHidden);
    return /^Gemma4/.test(architecture) ? gemma4(tower, textHidden) : null;
  };
  const parameters = count();
  if (tower === null || parameters === null) {
    config.warn('the vision tower is left out: the language model alone is planned and counted');
    return null;
  }
  return {
    parameters,
    numLayers: tower.layers,
    hiddenSize: tower.hidden,
    ffnHiddenSize: tower.ffn,
    numHeads: tower.heads,
    frozen: true,
  };
}
