import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadCatalog } from '#main/services/catalog.ts';
import { AppError } from '../errors.ts';
import { isPreset, parsePresetKey, presetScenario } from './preset.ts';

const catalog = loadCatalog(path.resolve(import.meta.dirname, '../../../resources'));

describe('parsePresetKey', () => {
  test.each([
    ['preset:gpt-1t@3072xa100-80gb-sxm', { model: 'gpt-1t', numAccelerators: 3072, accelerator: 'a100-80gb-sxm' }],
    ['PRESET:GPT-1T@3,072xA100-80GB', { model: 'GPT-1T', numAccelerators: 3072, accelerator: 'A100-80GB' }],
    ['llama-3.1-8b@8×H100', { model: 'llama-3.1-8b', numAccelerators: 8, accelerator: 'H100' }],
    ['llama-3.1-8b @ 8 x H100 80GB', { model: 'llama-3.1-8b', numAccelerators: 8, accelerator: 'H100 80GB' }],
    ['gpt-1t', null],
    ['gpt-1t@a100', null],
    ['@8xh100', null],
    ['gpt-1t@8x', null],
  ])('%s', (text, key) => {
    expect(parsePresetKey(text)).toEqual(key);
  });
});

describe('presetScenario', () => {
  test.each([
    ['preset:gpt-1t@3072xa100-80gb-sxm', 'gpt-1t'],
    ['preset:GPT-1T@3072xA100-80GB', 'gpt-1t'],
    ['preset:gpt-1t@3072xA100 80GB', 'gpt-1t'],
    ['preset:llama-3.1-405b@16384xh100-80gb-sxm', 'llama-3.1-405b'],
    ['preset:Llama-3.1-405B@16,384xH100', 'llama-3.1-405b'],
    ['preset:llama-3.1-8b@8xH100', 'llama-3.1-8b'],
    ['preset:gpt-1t', 'gpt-1t'],
  ])('%s is the example', (text, id) => {
    const { scenario, assumed } = presetScenario(text, catalog);
    expect(scenario).toEqual(catalog.examples.find((example) => example.id === id)?.scenario);
    expect(assumed).toEqual([]);
  });

  test('the key of each example leads to it', () => {
    for (const example of catalog.examples)
      expect(presetScenario(`preset:${example.presetKey}`, catalog).scenario).toBe(example.scenario);
  });

  test('another number of accelerators keeps the job of the example and says so', () => {
    const { scenario, assumed } = presetScenario('preset:gpt-1t@1536xa100-80gb-sxm', catalog);
    expect(scenario.job).toMatchObject({ globalBatchSize: 3072, seqLen: 2048, tokens: 450e9 });
    expect(scenario.cluster).toMatchObject({ numAccelerators: 1536, preset: null });
    expect(scenario.plan).toBeNull();
    expect(assumed[0]).toContain('GPT 1T on 3,072 A100');
  });

  test('any model and accelerator of the catalog make a scenario with a stated job', () => {
    for (const model of catalog.models)
      for (const accelerator of catalog.accelerators) {
        if (accelerator.scaleOut.nicsPerAccelerator === 0) continue; // machines of them are not connected
        const { scenario, assumed } = presetScenario(`preset:${model.id}@48x${accelerator.id}`, catalog);
        expect(scenario.job.globalBatchSize % 3).toBe(0); // 48 = 16 · 3: batches that 3 ranks share
        expect(assumed.join()).toMatch(/job:.*cluster:/);
      }
    const { scenario } = presetScenario('preset:mistral-7b@64xh100', catalog);
    expect(scenario.job).toMatchObject({ globalBatchSize: 1024, seqLen: 4096, tokens: 20 * 7_248_023_552 });
  });

  test('a part without bf16 units is planned in fp16, and that is said', () => {
    const { scenario, assumed } = presetScenario('preset:gpt-22b@64xv100', catalog);
    expect(scenario.job.precision).toMatchObject({ compute: 'fp16', weights: 'fp16' });
    expect(assumed[0]).toContain('fp16, because NVIDIA V100');
    const onTpu = presetScenario('preset:gpt-1t@64xtpu-v4', catalog);
    expect(onTpu.scenario.job.precision).toMatchObject({ compute: 'bf16', weights: 'bf16' });
    expect(onTpu.assumed[0]).toContain('bf16, because Google TPU v4');
  });

  test.each([
    ['preset:gpt-2t@8xh100', 'unknown-preset', 'model.preset', /Did you mean gpt-1t/],
    ['preset:gpt-1t@8xh100000', 'unknown-preset', 'cluster.accelerator', /h100-80gb-sxm/],
    ['preset:gpt-1t@8', 'unknown-preset', 'preset', /preset:gpt-1t@3072xa100-80gb-sxm/],
    ['preset:', 'unknown-preset', 'preset', /./],
    ['preset:gpt-1t@0xh100', 'unknown-preset', 'preset', /./],
    ['preset:gpt-1t@12xh100', 'invalid-field', 'cluster.numAccelerators', /16/],
    ['preset:gpt-1t@16xrtx-4090', 'invalid-field', 'cluster.scaleOut.nicsPerAccelerator', /at most 8/],
    ['preset:gpt-1t@99999999xh100', 'invalid-field', 'cluster.numAccelerators', /4.?194.?304/],
  ])('%s is refused with field and remedy', (text, code, field, remedy) => {
    expect(() => presetScenario(text, catalog)).toThrow(
      expect.objectContaining({ code, path: field, remedy: expect.stringMatching(remedy) }),
    );
  });

  test('any text gives a scenario or an AppError', () => {
    const piece = fc.constantFrom(
      'gpt-1t',
      'llama-3.1-8b',
      '@',
      'x',
      '8',
      '0',
      '3072',
      'h100',
      'a100',
      '-',
      ' ',
      'é',
      ',',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 7 }), (parts) => {
        const text = `preset:${parts.join('')}`;
        expect(isPreset(text)).toBe(true);
        try {
          presetScenario(text, catalog);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
    );
  });
});
