import { describe, expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { presets } from '../engine/testing/catalog.ts';
import { parseScenarioValue, resolveScenario } from './index.ts';

const llama = {
  name: 'hybrid',
  family: 'llama',
  hiddenSize: 256,
  ffnHiddenSize: 512,
  gatedFfn: true,
  numHeads: 4,
  vocabSize: 1000,
  tiedEmbeddings: false,
  positions: 'rotary',
  normalization: 'rmsnorm',
};

function resolved(model: object) {
  const value = {
    format: 'trainyard/scenario',
    version: 1,
    name: 'small',
    model: { ...llama, ...model },
    cluster: { accelerator: 'a100-80gb-sxm', numAccelerators: 8 },
    job: { globalBatchSize: 8, seqLen: 128 },
  };
  return resolveScenario(parseScenarioValue(value), presets).model;
}

function paths(model: object): string[] {
  try {
    resolved(model);
  } catch (error) {
    if (error instanceof AppError) return error.issues.map((issue) => issue.path);
    throw error;
  }
  return [];
}

const moe = { numExperts: 2, expertsPerToken: 4, expertFfnHiddenSize: 64 };

describe('layers that differ', () => {
  test.each([
    ['more experts per token than experts', { numLayers: 2, moe }, 'model.moe.expertsPerToken'],
    ['a pattern of another length', { numLayers: 3, layerPattern: 'M*M-' }, 'model.layerPattern'],
    ['a letter that stands for nothing', { numLayers: 2, layerPattern: 'MX' }, 'model.layerPattern'],
    ['experts in a pattern of a model without', { numLayers: 2, layerPattern: '*E' }, 'model.layerPattern'],
    ['kinds without an order', { numLayers: 2, layerKinds: { a: kind(), b: kind() } }, 'model.layerPattern'],
    ['an order without kinds', { numLayers: 2, layerPattern: [{ kind: 'a', count: 2 }] }, 'model.layerPattern'],
  ])('%s is refused', (_, model, path) => {
    expect(paths(model)).toContain(path);
  });

  test('a pattern in Megatron’s letters gives the number of layers where the file does not', () => {
    expect(resolved({ layerPattern: 'M*|M-/*-' }).numLayers).toBe(4);
  });

  test('one kind needs no order', () => {
    expect(paths({ numLayers: 2, layerKinds: { only: kind() } })).toEqual([]);
  });
});

function kind() {
  return { mixer: { type: 'none' }, ffn: { type: 'dense', width: 64, gated: true } };
}
