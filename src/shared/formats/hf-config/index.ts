/**
 * Reads a Hugging Face config.json into a model of ours. The family is told by the class that loads the file and by the
 * keys that are present, never by `model_type` alone; what the file leaves to its class is filled in and told.
 */
import { AppError } from '../../errors.ts';
import { stackOf } from '../../layer-stack.ts';
import { issuesOf, modelSchema, type LayerKind, type Mixer, type Model } from '../../schema/index.ts';
import { ConfigReader, parseConfigText } from './config.ts';

export { parseConfigText } from './config.ts';
import { familyOf, type Family } from './families.ts';
import { ffnsOf } from './ffns.ts';
import { mixersOf } from './mixers.ts';
import { nasLayers } from './nas.ts';
import { finalParameters, specialOf } from './special.ts';
import { visionOf } from './vision.ts';

export interface HfReading {
  model: Model;
  /** The class's family as this reader knows it. */
  family: string;
  /** Values that the file leaves to its class. */
  assumed: string[];
  warnings: string[];
  /**
   * Counts that go by the names of tensors take the shared experts' down-projection for a routed one in classes that call
   * them `shared_experts` or `share_expert`; the published "active" figures of the reference table do.
   */
  sharedCountAsRouted: boolean;
}

/** Whether a parsed file looks like a Hugging Face configuration. */
export function isHfConfig(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return (
    ['architectures', 'text_config', 'hidden_size', 'n_embd', 'd_model'].some((key) => Object.hasOwn(value, key)) &&
    !Object.hasOwn(value, 'format')
  );
}

function numLayersOf(config: ConfigReader): number {
  const pattern = config.string('hybrid_override_pattern');
  if (pattern !== null && !config.has('num_hidden_layers'))
    return pattern.replaceAll('|', '').split('/')[0]?.length ?? 0;
  const blocks = config.list('layers_block_type', 'block_configs');
  if (blocks !== null && !config.has('num_hidden_layers')) return blocks.length;
  return config.need('number of layers', 'num_hidden_layers', 'n_layer', 'n_layers', 'num_layers');
}

/** Short name of a kind, for patterns that people read. */
function kindName({ mixer, ffn }: LayerKind): string {
  const mixerName: Record<Mixer['type'], string> = {
    attention: mixer.type === 'attention' && mixer.window !== null ? 'window' : 'attention',
    mla: mixer.type === 'mla' && mixer.indexer !== null ? 'mla-indexed' : 'mla',
    mamba1: 'mamba',
    mamba2: 'mamba2',
    'gated-delta': 'gated-delta',
    'linear-attention': 'linear',
    'kimi-delta': 'kimi-delta',
    'short-conv': 'conv',
    compressed: mixer.type === 'compressed' && mixer.ratio !== null ? 'compressed' : 'window',
    none: '',
  };
  const ffnName = ffn.type === 'moe' ? 'experts' : ffn.type === 'dense' ? 'dense' : '';
  return [mixerName[mixer.type], ffnName].filter((part) => part !== '').join('+') || 'empty';
}

/** Runs of equal layers as named kinds and a pattern. */
function toPattern(layers: readonly LayerKind[]): Pick<Model, 'layerKinds' | 'layerPattern'> {
  const names = new Map<string, string>();
  const kinds: Record<string, LayerKind> = {};
  const pattern: { kind: string; count: number }[] = [];
  for (const layer of layers) {
    const text = JSON.stringify(layer);
    let name = names.get(text);
    if (name === undefined) {
      const base = kindName(layer);
      let number = 1;
      for (name = base; kinds[name] !== undefined; name = `${base}-${number}`) number++;
      names.set(text, name);
      kinds[name] = layer;
    }
    const last = pattern.at(-1);
    if (last?.kind === name) last.count++;
    else pattern.push({ kind: name, count: 1 });
  }
  return { layerKinds: kinds, layerPattern: pattern };
}

/** Whether the plain fields alone describe these layers. */
function isPlain(model: Model, layers: readonly LayerKind[]): boolean {
  const { kinds, order } = stackOf({ ...model, layerKinds: null, layerPattern: null });
  return layers.every((layer, index) => JSON.stringify(layer) === JSON.stringify(kinds[order[index] ?? 0]));
}

function flatMoe(layers: readonly LayerKind[]): Model['moe'] {
  const first = layers.findIndex(({ ffn }) => ffn.type === 'moe');
  const ffn = layers[first]?.ffn;
  if (ffn?.type !== 'moe') return null;
  const later = layers.findIndex((layer, index) => index > first && layer.ffn.type === 'moe');
  const everyN = later < 0 ? 1 : later - first;
  return {
    numExperts: ffn.numExperts,
    expertsPerToken: ffn.expertsPerToken,
    expertFfnHiddenSize: ffn.expertWidth,
    sharedExpertFfnHiddenSize: ffn.sharedWidth,
    sharedExpertGate: ffn.sharedGate,
    denseFirst: Math.max(0, first - everyN + 1),
    everyN,
    router: null,
  };
}

function flatMla(layers: readonly LayerKind[]): Model['mla'] {
  const mixer = layers[0]?.mixer;
  if (mixer?.type !== 'mla') return null;
  const { qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim } = mixer;
  return { qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim };
}

/** Heads for the plain fields, where only kinds of layers say how attention works: those of the first attention layer. */
function headsOf(layers: readonly LayerKind[]): Pick<Model, 'numHeads' | 'numKvHeads' | 'headDim'> {
  for (const { mixer } of layers) {
    if (mixer.type === 'attention')
      return { numHeads: mixer.numHeads, numKvHeads: mixer.numKvHeads, headDim: mixer.headDim };
    if (mixer.type === 'compressed') return { numHeads: mixer.numHeads, numKvHeads: 1, headDim: mixer.headDim };
    if (mixer.type === 'mla') return { numHeads: mixer.numHeads, numKvHeads: mixer.numHeads, headDim: mixer.vHeadDim };
  }
  for (const { mixer } of layers)
    if (mixer.type === 'mamba2')
      return { numHeads: mixer.numHeads, numKvHeads: mixer.numHeads, headDim: mixer.headDim };
  return { numHeads: 1, numKvHeads: 1, headDim: 1 };
}

function ffnWidthOf(layers: readonly LayerKind[], hiddenSize: number): number {
  const dense = layers.find(({ ffn }) => ffn.type === 'dense')?.ffn;
  if (dense?.type === 'dense') return dense.width;
  const moe = layers.find(({ ffn }) => ffn.type === 'moe')?.ffn;
  return moe?.type === 'moe' ? moe.expertWidth : 2 * hiddenSize;
}

/** Rows of a learned position table: OPT keeps two more than its longest sequence. */
function maxPositionsOf(config: ConfigReader, family: Family): number | null {
  const given = config.number(
    'max_position_embeddings',
    'n_positions',
    'max_seq_len',
    'seq_length',
    'max_sequence_length',
  );
  if (family.positions !== 'learned') return given;
  if (family.name === 'OPT') return (given ?? config.orDefault(2048, 'max_position_embeddings')) + 2;
  return given ?? config.orDefault(1024, 'n_positions');
}

function layersOf(config: ConfigReader, family: Family, hiddenSize: number, numLayers: number): LayerKind[] {
  const blocks = config.list('block_configs');
  if (blocks !== null) return nasLayers(config, family, hiddenSize, blocks);
  const mixers = mixersOf(config, family, hiddenSize, numLayers);
  const ffns = ffnsOf(config, family, hiddenSize, numLayers);
  const special = specialOf(config, family, hiddenSize);
  return mixers.map((mixer, layer) => {
    const ffn = ffns[layer] ?? { type: 'none' };
    const kind: LayerKind = { mixer, ffn, norms: family.norms, parallel: family.parallel, otherParameters: 0 };
    return special(kind);
  });
}

const nameFrom = (config: ConfigReader, fallback: string): string => {
  const path = config.root._name_or_path ?? config.root.name_or_path;
  const name = typeof path === 'string' ? (path.split('/').at(-1) ?? '') : '';
  return (name === '' ? fallback : name).slice(0, 200);
};

/** Most layers that a scenario may have. */
const MAX_LAYERS = 10_000;

/** Throws AppError invalid-field where a size is none. */
function refuseSizes(isWrong: boolean, key: string, message: string): void {
  if (isWrong) throw new AppError('invalid-field', `${key}: ${message}`, { path: key, remedy: `Correct ${key}.` });
}

/** Throws AppError invalid-field where query heads do not divide over the key/value heads. */
function refuseUnevenHeads(layers: readonly LayerKind[]): void {
  for (const { mixer } of layers)
    if (mixer.type === 'attention')
      refuseSizes(
        mixer.numHeads % mixer.numKvHeads !== 0,
        'num_key_value_heads',
        `${mixer.numHeads} query heads cannot share ${mixer.numKvHeads} key/value heads evenly`,
      );
}

/** The model as the schema has it. Throws AppError invalid-field that names the first size which is none. */
function checked(model: unknown): Model {
  const parsed = modelSchema.safeParse(model);
  if (parsed.success) return parsed.data;
  const [first] = issuesOf(parsed.error, model);
  throw new AppError('invalid-field', `${first?.path ?? 'model'}: ${first?.message ?? 'is not as expected'}`, {
    path: first?.path ?? 'model',
    remedy: `The file’s sizes give this value. ${first?.remedy ?? ''}`.trim(),
  });
}

function describe(config: ConfigReader, family: Family, name: string): Model {
  const hiddenSize = config.need('hidden size', 'hidden_size', 'n_embd', 'n_embed', 'd_model');
  const numLayers = numLayersOf(config);
  refuseSizes(numLayers > MAX_LAYERS, 'num_hidden_layers', `must be at most ${MAX_LAYERS}, found ${numLayers}`);
  const layers = layersOf(config, family, hiddenSize, numLayers);
  refuseUnevenHeads(layers);
  const heads = headsOf(layers);
  const projected = config.number('word_embed_proj_dim');
  const flat = {
    preset: null,
    name: nameFrom(config, name),
    family: family.style,
    numLayers,
    hiddenSize,
    ffnHiddenSize: ffnWidthOf(layers, hiddenSize),
    gatedFfn: family.gated,
    ...heads,
    vocabSize:
      config.number('embedding_size', 'padded_vocab_size') ??
      (family.name === 'Gemma 3' && !config.has('vocab_size')
        ? config.orDefault(262_208, 'vocab_size')
        : config.need('size of the vocabulary', 'vocab_size')),
    tiedEmbeddings: tiedOf(config, family),
    positions: family.positions,
    maxPositions: maxPositionsOf(config, family),
    normalization: family.normalization,
    qkvBias: family.qkvBias,
    ffnBias: family.ffnBias,
    qkNorm: family.qkNorm === 'head',
    slidingWindow: layers.every(({ mixer }) => mixer.type === 'attention' && mixer.window !== null)
      ? config.number('sliding_window')
      : null,
    dropout: false,
    moe: flatMoe(layers),
    mla: flatMla(layers),
    mtpLayers: config.number('num_nextn_predict_layers', 'mtp_num_hidden_layers', 'num_mtp_modules') ?? 0,
    embeddingSize: projected === hiddenSize ? null : projected,
    embeddingNorm: family.embeddingNorm,
    headBias: family.headBias,
    finalNorm: family.name !== 'OPT' || config.flag(true, 'do_layer_norm_before'),
    vision: visionOf(config),
    otherParameters: finalParameters(config, hiddenSize),
  };
  const plain = checked(flat);
  if (isPlain(plain, layers)) return plain;
  return checked({ ...plain, moe: null, mla: null, slidingWindow: null, ...toPattern(layers) });
}

function tiedOf(config: ConfigReader, family: Family): boolean {
  const own = config.any('tie_word_embeddings');
  const outer = config.root.tie_word_embeddings;
  // of a multimodal file the outer flag is the one that its class goes by
  if (config.isNested && typeof outer === 'boolean') return outer;
  if (typeof own === 'boolean') return own;
  config.assumed.push(`tie_word_embeddings: ${family.tied} (the class's default)`);
  return family.tied;
}

/**
 * Reads a config.json. Throws AppError invalid-json / wrong-format / invalid-field with the key, or `unsupported` for a
 * class whose layers are not among the kinds that can be planned.
 */
export function readHfConfig(text: string, what = 'config.json'): HfReading {
  const config = new ConfigReader(parseConfigText(text, what));
  const { family, uncovered, isKnown } = familyOf(config);
  if (uncovered !== null)
    throw new AppError('unsupported', `${what}: ${uncovered}`, {
      path: 'architectures',
      remedy: 'Describe the model by hand with the layer kinds that come nearest, or plan another one.',
    });
  const { architecture, modelType } = config.names;
  if (!isKnown)
    config.warnings.push(
      `the class ${architecture || modelType || '(none named)'} is not known: read as Llama style; compare the parameter count with the published one`,
    );
  if (config.root.quantization_config !== undefined || config.text.quantization_config !== undefined)
    config.warnings.push('the upload is quantised; a training plan starts from its full-precision weights');
  if (/^Grok/i.test(architecture))
    config.warnings.push('Grok-1 is counted with the Mixtral class: its two further norms per layer are left out');
  const model = describe(config, family, architecture || modelType || 'imported model');
  const sharedCountAsRouted = /^(DeepSeek|GLM-4.5|Nemotron-H|Step)/.test(family.name);
  return { model, family: family.name, assumed: config.assumed, warnings: config.warnings, sharedCountAsRouted };
}
