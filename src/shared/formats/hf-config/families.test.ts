import { describe, expect, test } from 'vitest';
import { activeParameters, totalParameters } from '../../engine/workload/parameters.ts';
import { stackOf } from '../../layer-stack.ts';
import { modelSchema } from '../../schema/index.ts';
import { readHfConfig } from './index.ts';
import file from './testing/families.json' with { type: 'json' };

interface Case {
  name: string;
  total: number | null;
  routed: number | null;
  config: object;
}
const models = file.models as Case[];

/** What a token passes, from the reference class's own tensors: K of E routed experts. */
function activeOf({ total, routed }: Case, model: ReturnType<typeof readHfConfig>['model']): number {
  const experts = stackOf(model).kinds.flatMap(({ ffn }) => (ffn.type === 'moe' ? [ffn] : []))[0];
  const missed = experts === undefined ? 0 : 1 - experts.expertsPerToken / experts.numExperts;
  return Math.round(total! - routed! * missed);
}

describe('other models of the families count as their reference class does, exactly', () => {
  test.each(models.filter(({ total }) => total !== null))('$name', (item) => {
    const { model, warnings } = readHfConfig(JSON.stringify(item.config), item.name);
    expect(totalParameters(model)).toBe(item.total);
    if (item.routed !== null) expect(activeParameters(model)).toBe(activeOf(item, model));
    expect(warnings.join()).not.toMatch(/is not known/);
    expect(modelSchema.parse(model)).toEqual(model);
  });

  test.each(models.filter(({ total }) => total === null))('$name is refused with the reason', ({ name, config }) => {
    expect(() => readHfConfig(JSON.stringify(config), name)).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(/not among the layer kinds/) }),
    );
  });
});

describe('what a class takes where its file is silent', () => {
  test('is filled in and told', () => {
    const { model, assumed } = readHfConfig(
      JSON.stringify({ architectures: ['MistralForCausalLM'], hidden_size: 4096, num_hidden_layers: 2 }),
    );
    expect(model).toMatchObject({ numKvHeads: 8, vocabSize: 32_000, slidingWindow: 4096, tiedEmbeddings: false });
    expect(assumed).toEqual(
      expect.arrayContaining([
        "num_key_value_heads: 8 (the class's default)",
        "vocab_size: 32000 (the class's default)",
      ]),
    );
  });

  test('stands back where the file says it under another name', () => {
    const { model } = readHfConfig(
      JSON.stringify({
        architectures: ['FalconForCausalLM'],
        hidden_size: 64,
        n_layer: 1,
        n_head: 4,
        vocab_size: 100,
        alibi: false,
      }),
    );
    expect(model.numHeads).toBe(4);
  });

  test('a null in the file is a value', () => {
    const text = {
      architectures: ['MistralForCausalLM'],
      hidden_size: 4096,
      num_hidden_layers: 1,
      sliding_window: null,
    };
    expect(readHfConfig(JSON.stringify(text)).model.slidingWindow).toBeNull();
  });

  test('a class nobody knows is refused where its keys describe what Llama has not', () => {
    const text = { architectures: ['NewForCausalLM'], hidden_size: 64, num_hidden_layers: 1, ssm_state_size: 16 };
    expect(() => readHfConfig(JSON.stringify(text))).toThrow(expect.objectContaining({ code: 'unsupported' }));
  });
});
