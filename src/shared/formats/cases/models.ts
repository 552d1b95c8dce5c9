/**
 * The model of a row: a Hugging Face configuration or a model of the catalog by name, or a GPT from the sizes that the
 * file gives; the row's own values go over either. Where there is none, the sizes that the row states are kept for rules.
 */
import { AppError } from '../../errors.ts';
import { modelSchema, normalizeId, type Model, type Presets } from '../../schema/index.ts';
import { parseConfigText, readHfConfig } from '../hf-config/index.ts';
import type { CaseModel, CaseRow } from './schema.ts';

/** Where models come from that a row only names. */
export interface ModelSources {
  presets: Presets['models'];
  /** Text of the configuration of that name; null where there is none. */
  configText(name: string): string | null;
}

/** Sizes that a row states; `null` = not stated. */
export interface StatedSizes {
  numLayers: number | null;
  hiddenSize: number | null;
  ffnHiddenSize: number | null;
  numHeads: number | null;
  numKvHeads: number | null;
  vocabSize: number | null;
  numExperts: number | null;
}

export interface CaseModelReading {
  /** null where the record does not describe the layers. */
  model: Model | null;
  /** Parameters as the record states them, where it describes no layers. */
  parameters: number | null;
  stated: StatedSizes;
  assumed: string[];
  /** Why a named model could not be read; null where nothing went wrong. */
  fault: string | null;
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);

function statedOf(values: Readonly<Record<string, unknown>>): StatedSizes {
  const first = (...keys: string[]) => keys.map((key) => numberOf(values[key])).find((value) => value !== null) ?? null;
  const layers = values.pipeline_layers;
  const listed = Array.isArray(layers) ? layers.reduce<number>((sum, one) => sum + Number(one), 0) : null;
  return {
    numLayers: first('num_hidden_layers', 'num_layers', 'n_layer') ?? listed,
    hiddenSize: first('hidden_size', 'd_model', 'n_embd'),
    ffnHiddenSize: first('intermediate_size', 'ffn_hidden_size', 'moe_intermediate_size'),
    numHeads: first('num_attention_heads', 'n_head', 'num_heads'),
    numKvHeads: first('num_key_value_heads', 'num_query_groups'),
    vocabSize: first('vocab_size'),
    numExperts: first('n_routed_experts', 'num_experts', 'num_local_experts'),
  };
}

const sizesOf = (model: Model): StatedSizes => ({
  numLayers: model.numLayers,
  hiddenSize: model.hiddenSize,
  ffnHiddenSize: model.ffnHiddenSize,
  numHeads: model.numHeads,
  numKvHeads: model.numKvHeads,
  vocabSize: model.vocabSize,
  numExperts: model.moe?.numExperts ?? null,
});

/** Our fields for the native keys that rows override. */
const fieldOf: Readonly<Record<string, keyof Model>> = {
  num_hidden_layers: 'numLayers',
  hidden_size: 'hiddenSize',
  intermediate_size: 'ffnHiddenSize',
  num_attention_heads: 'numHeads',
  num_key_value_heads: 'numKvHeads',
  vocab_size: 'vocabSize',
};

function withOverrides(model: Model, overrides: Readonly<Record<string, unknown>>): Model {
  const changed: Record<string, unknown> = { ...model, preset: null };
  for (const [key, value] of Object.entries(overrides)) {
    const field = fieldOf[key];
    if (field !== undefined && numberOf(value) !== null) changed[field] = value;
  }
  if (model.numHeads * model.headDim === model.hiddenSize)
    changed.headDim = Number(changed.hiddenSize) / Number(changed.numHeads);
  if ('first_k_dense_replace' in overrides && model.moe !== null)
    changed.moe = { ...model.moe, denseFirst: Number(overrides.first_k_dense_replace) };
  return modelSchema.parse(changed);
}

function fromConfig(text: string, name: string, overrides: Readonly<Record<string, unknown>>) {
  const config = parseConfigText(text, name);
  const nested = config.text_config;
  const target = typeof nested === 'object' && nested !== null ? (nested as Record<string, unknown>) : config;
  const known = Object.entries(overrides).filter(([key]) => key in target || key in fieldOf);
  Object.assign(target, Object.fromEntries(known));
  return readHfConfig(JSON.stringify(config), name);
}

/** A name without what uploads add to it: quantisation and tuning do not change the layers. */
const plainName = (name: string) =>
  normalizeId(name)
    .replace(/-(fp8|bf16|nvfp4|instruct|base|hf|v0\.1|it)\b/g, '')
    .replace(/^meta-/, '');

function presetOf(name: string, { presets }: ModelSources): Model | null {
  const wanted = plainName(name);
  const found = presets.find(({ id, aliases }) => [id, ...aliases].some((one) => plainName(one) === wanted));
  if (found === undefined) return null;
  const parsed = modelSchema.safeParse({ ...found.model, preset: null });
  return parsed.success ? parsed.data : null;
}

/** Heads of 128 and dividing values for what a GPT's record leaves out; told in `assumed`. */
function gptOf(name: string, sizes: Readonly<Record<string, unknown>>, assumed: string[]): Model | null {
  const { numLayers, hiddenSize, ffnHiddenSize, numHeads, numKvHeads, vocabSize } = statedOf(sizes);
  if (numLayers === null || hiddenSize === null || numHeads === null) return null;
  if (vocabSize === null) assumed.push('model.vocab_size: 51200 (GPT-2’s, padded)');
  if (ffnHiddenSize === null) assumed.push('model.intermediate_size: 4 × hidden');
  const hasBiases = sizes.biases !== false;
  const length = numberOf(sizes.seq_len) ?? 2048;
  return modelSchema.parse({
    name,
    family: 'gpt',
    numLayers,
    hiddenSize,
    ffnHiddenSize: ffnHiddenSize ?? 4 * hiddenSize,
    gatedFfn: false,
    numHeads,
    numKvHeads: numKvHeads ?? numHeads,
    headDim: hiddenSize / numHeads,
    vocabSize: vocabSize ?? 51_200,
    tiedEmbeddings: sizes.tied_embedding !== false,
    positions: typeof sizes.positions === 'string' ? sizes.positions : 'learned',
    maxPositions: length,
    normalization: 'layernorm',
    qkvBias: hasBiases,
    ffnBias: hasBiases,
    dropout: true,
  });
}

/** A model's own sizes under a row's: new heads bring as many key/value heads where the model shared none. */
function merged(entry: CaseModel, overrides: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sharesNone = entry.num_key_value_heads == null || entry.num_key_value_heads === entry.num_attention_heads;
  const isNew = overrides.num_attention_heads !== undefined && overrides.num_key_value_heads === undefined;
  return { ...entry, ...(isNew && sharesNone ? { num_key_value_heads: undefined } : {}), ...overrides };
}

const STATED_MODEL = 'model.hf_config';

function named(
  name: string,
  overrides: Readonly<Record<string, unknown>>,
  sources: ModelSources,
): { model: Model; assumed: string[] } | null {
  const text = sources.configText(name);
  if (text !== null) {
    const { model, assumed } = fromConfig(text, name, overrides);
    return { model, assumed };
  }
  const preset = presetOf(name, sources);
  const language = name.replace(/-VL-/i, '-');
  if (preset === null && language !== name) {
    const twin = named(language, overrides, sources);
    if (twin !== null)
      twin.assumed.push(`${STATED_MODEL}: ${language}, the language model of ${name}; its vision tower is left out`);
    return twin;
  }
  if (preset === null) return null;
  return { model: withOverrides(preset, overrides), assumed: [`${STATED_MODEL}: ${name} as in the catalog`] };
}

/**
 * Multi-token prediction is trained by Megatron's recipes unless the record says "w/o MTP"; a model cut to few layers and
 * other frameworks leave it out.
 */
function withPrediction(model: Model, row: CaseRow): Model {
  if (model.mtpLayers === 0) return model;
  const words = JSON.stringify(row.model_overrides ?? {});
  const isWhole = row.model_overrides?.num_hidden_layers === undefined;
  const isMegatron = /megatron|nemo|bridge|primus/i.test(row.framework ?? '');
  return isWhole && isMegatron && !/w\/o MTP/i.test(words) ? model : { ...model, mtpLayers: 0 };
}

/** Reads the model of a row. Never throws for a bad one: `fault` says what is wrong. */
export function readCaseModel(
  row: CaseRow,
  models: Readonly<Record<string, CaseModel>>,
  sources: ModelSources,
): CaseModelReading {
  const overrides = row.model_overrides ?? {};
  const entry: CaseModel = (row.model == null ? undefined : models[row.model]) ?? {};
  const config = typeof overrides.hf_config === 'string' ? overrides.hf_config : entry.hf_config;
  const parameters = numberOf(overrides.nominal_params) ?? numberOf(overrides.params) ?? numberOf(entry.nominal_params);
  const nothing = { model: null, parameters, stated: statedOf(overrides), assumed: [], fault: null };
  try {
    if (config != null || row.model != null) {
      const name = config ?? row.model ?? '';
      const found =
        named(name, overrides, sources) ?? (config == null ? null : named(row.model ?? '', overrides, sources));
      if (found !== null) {
        const trained = withPrediction(found.model, row);
        return { ...nothing, ...found, model: trained, stated: sizesOf(trained) };
      }
    }
    const assumed: string[] = [];
    const model = gptOf(row.model ?? row.id, merged(entry, overrides), assumed);
    if (model !== null) return { ...nothing, model, assumed, stated: sizesOf(model) };
  } catch (error) {
    if (error instanceof AppError) return { ...nothing, fault: error.message };
    if (error instanceof Error && error.name === 'ZodError')
      return { ...nothing, fault: `the sizes of ${row.model ?? row.id} describe no model` };
    throw error;
  }
  const fault = config == null ? null : `the configuration ${config} was not found beside the file nor in the catalog`;
  return { ...nothing, fault };
}
