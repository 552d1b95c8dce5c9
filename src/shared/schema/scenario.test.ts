import { describe, expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { parseScenarioText } from './scenario.ts';

function refusal(attempt: () => unknown): AppError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('what is no scenario file', () => {
  const text = JSON.stringify({
    format: 'trainyard/scenario',
    version: 1,
    name: 'small',
    model: { preset: 'gpt-1t' },
    cluster: { preset: 'selene-a100-80gb' },
    job: { globalBatchSize: 3072, seqLen: 2048 },
  });

  test('the text itself is one', () => {
    expect(parseScenarioText(text)).toMatchObject({ name: 'small', plan: null, results: null });
  });

  test.each([
    ['half a file', text.slice(0, text.length / 2), 'invalid-json'],
    ['nothing', '', 'invalid-json'],
    ['another kind of text', 'tp: 8\npp: 4\n', 'invalid-json'],
    ['another kind of JSON', '{"layers": 3}', 'wrong-format'],
    ['a list', '[]', 'wrong-format'],
    ['null', 'null', 'wrong-format'],
    ['another format', text.replace('trainyard/scenario', 'trainyard/model'), 'wrong-format'],
    ['a newer version', text.replace('"version":1', '"version":2'), 'newer-version'],
    ['no version', text.replace('"version":1,', ''), 'invalid-field'],
  ])('%s', (_, input, code) => {
    const error = refusal(() => parseScenarioText(input, 'x.trainyard'));
    expect(error.code).toBe(code);
    expect(error.message).toContain('x.trainyard');
    expect(error.remedy).toBeTruthy();
  });

  test('a newer file names both versions', () => {
    const error = refusal(() => parseScenarioText(text.replace('"version":1', '"version":7')));
    expect(error.message).toContain('version 7');
    expect(error.message).toContain('version 1');
    expect(error.remedy).toContain('Update Trainyard');
  });
});

test.each([
  ['the index of a model’s weight files', { metadata: {}, weight_map: { a: 'b' } }, /config\.json/],
  ['a tokenizer’s configuration', { tokenizer_class: 'LlamaTokenizer' }, /config\.json/],
  ['the configuration of an adapter', { peft_type: 'LORA', r: 16 }, /base model/],
  ['a diffusion model', { _class_name: 'StableDiffusionPipeline' }, /decoder/],
  ['metadata of a GGUF file', { 'general.architecture': 'llama' }, /made from/],
  ['settings for generating text', { bos_token_id: 1, temperature: 0.6 }, /config\.json/],
])('%s is named, and the file to give instead', (what, value, remedy) => {
  try {
    parseScenarioText(JSON.stringify(value), 'x.json');
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ code: 'wrong-format', remedy: expect.stringMatching(remedy) as string });
    expect((error as AppError).message).toContain(`x.json is ${what}`);
  }
});
