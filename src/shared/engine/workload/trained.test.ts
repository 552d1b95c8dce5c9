import { describe, expect, test } from 'vitest';
import { stackOf } from '../../layer-stack.ts';
import type { Adapters, Model } from '../../schema/index.ts';
import { presets } from '../testing/catalog.ts';
import { headFlops, modelFlops } from './flops.ts';
import { rankParameters, totalParameters } from './parameters.ts';
import { adapterParameters, layerAdapters, rankWeights, trainedParameters } from './trained.ts';

const modelOf = (id: string): Model => presets.models.find((preset) => preset.id === id)!.model;
const llama = modelOf('llama-3.1-8b');
const both: Adapters = { rank: 16, targets: ['attention', 'ffn'] };
const whole = { counts: [32], hasEmbedding: true, hasHead: true, mtpLayers: 0 };
const alone = { tp: 1, ep: 1, etp: 1 };

describe('LoRA', () => {
  test('adapters of Llama 3.1 8B, map by map', () => {
    // rank × (inputs + outputs): queries, keys and values together; output; gate and up together; down
    const perLayer = 16 * (4096 + 6144 + (4096 + 4096) + (4096 + 28_672) + (14_336 + 4096));
    expect(adapterParameters(llama, both)).toBe(32 * perLayer);
    expect(adapterParameters(llama, { rank: 16, targets: ['attention'] })).toBe(32 * 16 * (4096 + 6144 + 8192));
    expect(adapterParameters(llama, { rank: 16, targets: ['qkv'] })).toBe(32 * 16 * (4096 + 6144));
    expect(adapterParameters(llama, { ...both, rank: 32 })).toBe(2 * 32 * perLayer);
  });

  test('every expert has adapters of its own, and latent attention those of its up-projections', () => {
    const small: Model = {
      ...llama,
      numLayers: 1,
      hiddenSize: 64,
      numHeads: 4,
      mla: { qLoraRank: 24, kvLoraRank: 16, qkNopeHeadDim: 8, qkRopeHeadDim: 4, vHeadDim: 8 },
      moe: {
        numExperts: 8,
        expertsPerToken: 2,
        expertFfnHiddenSize: 32,
        sharedExpertFfnHiddenSize: 16,
        sharedExpertGate: false,
        denseFirst: 0,
        everyN: 1,
        router: null,
      },
    };
    const adapters = layerAdapters(stackOf(small).kinds[0]!, small, { rank: 2, targets: ['attention', 'ffn'] });
    expect(adapters.routed).toBe(8 * 2 * (64 + 2 * 32 + (32 + 64)));
    const attention = 2 * (24 + 48 + (16 + 64) + (32 + 64));
    const shared = 2 * (64 + 2 * 16 + (16 + 64));
    expect(adapters.sharded + adapters.replicated).toBe(attention + shared);
  });

  test('a rank trains its adapters and holds everything', () => {
    const { trained, frozen } = rankWeights(llama, both, alone, whole);
    expect(trained.dense).toBe(adapterParameters(llama, both));
    expect(frozen).toEqual(rankParameters(llama, alone, whole));
    const split = rankWeights(llama, both, { ...alone, tp: 4 }, whole).trained;
    // halves at the hidden size are whole on every rank
    const replicated = 32 * 16 * 4 * 4096;
    expect(split.dense).toBe((trained.dense - replicated) / 4 + replicated);
  });

  test('frozen maps need no gradient of their weights', () => {
    const all = modelFlops(llama, 4096, 1);
    const adapted = modelFlops(llama, 4096, 1, both);
    expect(adapted / all).toBeGreaterThan(2 / 3);
    expect(adapted / all).toBeLessThan(0.72);
    expect(modelFlops(llama, 4096, 1, { ...both, rank: 256 })).toBeGreaterThan(adapted);
  });
});

describe('a frozen tower', () => {
  const vision = {
    parameters: 400e6,
    numLayers: 27,
    hiddenSize: 1152,
    ffnHiddenSize: 4304,
    numHeads: 16,
    frozen: true,
  };
  const seeing: Model = { ...llama, vision };

  test('counts, is held by the first stage, and is not trained', () => {
    expect(totalParameters(seeing) - totalParameters(llama)).toBe(400e6);
    expect(trainedParameters(seeing, null)).toBe(totalParameters(llama));
    expect(rankWeights(seeing, null, alone, whole).frozen.dense).toBe(400e6);
    expect(rankWeights(seeing, null, alone, { ...whole, hasEmbedding: false }).frozen.dense).toBe(0);
  });

  test('is trained where it is not frozen', () => {
    const trained: Model = { ...llama, vision: { ...vision, frozen: false } };
    expect(trainedParameters(trained, null)).toBe(totalParameters(trained));
    expect(rankWeights(trained, null, alone, whole).frozen.dense).toBe(0);
  });
});

describe('embeddings of another width', () => {
  const [h, e, vocabSize] = [1024, 512, 50_272];
  const narrow: Model = { ...llama, hiddenSize: h, embeddingSize: e, vocabSize };

  test('are projected to the hidden size and back', () => {
    expect(headFlops(narrow)).toBe(2 * e * vocabSize + 4 * e * h);
    expect(headFlops({ ...narrow, embeddingSize: null })).toBe(2 * h * vocabSize);
    expect(headFlops({ ...narrow, embeddingSize: h })).toBe(2 * h * vocabSize);
  });

  test('are held at their own width', () => {
    const without = { ...whole, hasEmbedding: false, hasHead: false };
    const ends = rankParameters(narrow, alone, whole).dense - rankParameters(narrow, alone, without).dense;
    const padded = 393 * 128;
    expect(ends).toBe(2 * (padded * e + e * h) + h);
  });
});
