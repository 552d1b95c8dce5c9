import { describe, expect, test } from 'vitest';
import { activeParameters, activeParametersByName, totalParameters } from '../../engine/workload/parameters.ts';
import { AppError } from '../../errors.ts';
import { modelSchema } from '../../schema/index.ts';
import { isHfConfig, readHfConfig } from './index.ts';
import file from './testing/configs.json' with { type: 'json' };

const models = file.models as { name: string; total: number | null; active: number | null; config: object }[];

/** Classes that the layer kinds do not cover (docs/MODELS.md); refused with the reason. */
const refused = ['Kimi-K3', 'MiniMax-M3'];
/** Counted with the vocabulary of its class (128,815), not that of its file. */
const otherVocabulary = ['Step-3.7-Flash'];

const counted = models.filter(
  ({ name, total }) => total !== null && !refused.includes(name) && !otherVocabulary.includes(name),
);

describe('parameters of real configurations are those of the reference class, exactly', () => {
  test.each(counted)('$name', ({ name, config, total, active }) => {
    const { model, sharedCountAsRouted } = readHfConfig(JSON.stringify(config), name);
    expect(totalParameters(model)).toBe(total);
    if (active !== null) expect(activeParametersByName(model, sharedCountAsRouted)).toBe(active);
    expect(activeParameters(model)).toBeLessThanOrEqual(totalParameters(model));
    expect(modelSchema.parse(model)).toEqual(model);
  });

  test('eighty-two of the eighty-three with a count', () => {
    expect(models.filter(({ total }) => total !== null)).toHaveLength(83);
    expect(counted).toHaveLength(82);
  });

  test.each(models.filter(({ name }) => refused.includes(name)))(
    '$name is refused with the reason',
    ({ name, config }) => {
      expect(() => readHfConfig(JSON.stringify(config), name)).toThrow(
        expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(/not among the layer kinds/) }),
      );
    },
  );

  test('a tower that the file does not describe is that of its class', () => {
    const step = models.find(({ name }) => name === 'Step-3.7-Flash')!;
    const { model, assumed } = readHfConfig(JSON.stringify(step.config));
    expect(model.vision?.parameters).toBe(1_981_014_784);
    // 81 more tokens in the file than in the class's own vocabulary, in embedding and head
    expect(totalParameters(model)).toBe(step.total! + 2 * 81 * 4096);
    expect(assumed.join()).toMatch(/vision_config/);
  });
});

const small = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 128,
  num_attention_heads: 4,
  num_hidden_layers: 2,
  vocab_size: 1000,
};
const read = (change: object) => readHfConfig(JSON.stringify({ ...small, ...change }));

describe('traps', () => {
  test('plain models use the plain fields, mixed ones name their kinds', () => {
    expect(read({}).model).toMatchObject({ layerKinds: null, numKvHeads: 4, headDim: 16, tiedEmbeddings: false });
    const mixed = read({ architectures: ['Gemma2ForCausalLM'], head_dim: 16, sliding_window: 8 }).model;
    expect(mixed.layerPattern).toEqual([
      { kind: 'window+dense', count: 1 },
      { kind: 'attention+dense', count: 1 },
    ]);
    expect(mixed.tiedEmbeddings).toBe(true);
  });

  test('two names for one thing that disagree are told', () => {
    expect(read({ num_kv_heads: 2, num_key_value_heads: 4 }).warnings.join()).toMatch(
      /num_key_value_heads is 4 but num_kv_heads is 2/,
    );
  });

  test('a window that is switched off is none; one from a layer on is only there', () => {
    const qwen = {
      architectures: ['Qwen2ForCausalLM'],
      num_key_value_heads: 4,
      sliding_window: 8,
      max_window_layers: 1,
    };
    expect(read({ ...qwen, use_sliding_window: false }).model.layerKinds).toBeNull();
    expect(read({ ...qwen, use_sliding_window: true }).model.layerPattern).toHaveLength(2);
  });

  test('Python’s bare Infinity and NaN are no fault', () => {
    const text = JSON.stringify({ ...small, limit: 'X', note: 'Infinity stays' }).replace(
      '"X"',
      '[0.0, Infinity, NaN]',
    );
    expect(readHfConfig(text).model.numLayers).toBe(2);
  });

  test('a language model inside a multimodal file is found', () => {
    const { hidden_size, ...rest } = small;
    const nested = {
      architectures: ['SomeVLForConditionalGeneration'],
      text_config: { ...rest, hidden_size },
      vision_config: { hidden_size: 8 },
    };
    expect(readHfConfig(JSON.stringify(nested)).model.hiddenSize).toBe(64);
  });

  test('an unknown class is read as Llama style, with a warning', () => {
    expect(read({ architectures: ['NobodyForCausalLM'], model_type: 'nobody' }).warnings.join()).toMatch(
      /NobodyForCausalLM is not known/,
    );
  });

  test.each([
    ['half a file', '{"hidden_size": 64', 'invalid-json'],
    ['a list', '[1]', 'wrong-format'],
    ['no layers', JSON.stringify({ ...small, num_hidden_layers: undefined }), 'invalid-field'],
    ['a negative width', JSON.stringify({ ...small, hidden_size: -64 }), 'invalid-field'],
    ['no heads', JSON.stringify({ ...small, num_attention_heads: 0 }), 'invalid-field'],
    ['more layers than any model', JSON.stringify({ ...small, num_hidden_layers: 1e9 }), 'invalid-field'],
    ['half a unit', JSON.stringify({ ...small, intermediate_size: 128.5 }), 'invalid-field'],
    [
      'heads that share unevenly',
      JSON.stringify({ ...small, num_attention_heads: 4, num_key_value_heads: 3 }),
      'invalid-field',
    ],
    ['a text for a number', JSON.stringify({ ...small, vocab_size: 'many' }), 'invalid-field'],
  ])('%s is refused', (_, text, code) => {
    expect(() => readHfConfig(text)).toThrow(AppError);
    expect(() => readHfConfig(text)).toThrow(expect.objectContaining({ code }));
  });

  test('scenario files and other JSON are no configurations', () => {
    expect(isHfConfig({ format: 'trainyard/scenario', hidden_size: 1 })).toBe(false);
    expect(isHfConfig([])).toBe(false);
    expect(isHfConfig({ rows: [] })).toBe(false);
    expect(isHfConfig(small)).toBe(true);
  });
});
