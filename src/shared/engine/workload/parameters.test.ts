import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { caseArbitrary } from '../testing/arbitraries.ts';
import { modelOf, presets } from '../testing/catalog.ts';
import { smallModel } from '../testing/problems.ts';
import { kindParameters, paddedVocabSize, rankParameters, totalParameters } from './parameters.ts';

const stageParameters = (
  model: typeof smallModel,
  tp: number,
  layers: number,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
) => {
  const rank = { counts: [layers], hasEmbedding: isFirst, hasHead: isLast, mtpLayers: 0 };
  return rankParameters(model, { tp, ep: 1, etp: 1 }, rank).dense;
};

const published = presets.models.flatMap(({ id, publishedParameters, model }) =>
  publishedParameters === null ? [] : [{ id, publishedParameters, model }],
);
/** Papers print a rounded size ("1.7 billion"); model cards and reference classes an exact one. */
const isRounded = (count: number) => count % 1e8 === 0;

describe('models of the catalog have as many parameters as published', () => {
  test.each(published.filter((one) => !isRounded(one.publishedParameters)))('$id, exactly', (one) => {
    expect(totalParameters(one.model)).toBe(one.publishedParameters);
  });

  // SC'21 prints one decimal of a formula (its eq. 2); Korthikanti et al. name their 22B model by whole billions
  test.each(published.filter((one) => isRounded(one.publishedParameters)))('$id, within its rounding', (one) => {
    const tolerance = one.publishedParameters < 2e9 ? 0.03 : one.id === 'gpt-22b' ? 0.023 : 0.012;
    expect(Math.abs(totalParameters(one.model) / one.publishedParameters - 1)).toBeLessThan(tolerance);
  });

  test('most have an exact count to compare with', () => {
    expect(published.filter((one) => !isRounded(one.publishedParameters)).length).toBeGreaterThanOrEqual(12);
  });
});

describe('kindParameters', () => {
  test.each([
    ['norms of two kinds', { normalization: 'layernorm' as const }, 2 * smallModel.hiddenSize],
    ['QKV biases', { qkvBias: true }, 24 * 128],
    ['QK norms', { qkNorm: true }, 2 * 128],
    ['an ungated FFN', { gatedFfn: false }, -smallModel.hiddenSize * smallModel.ffnHiddenSize],
    ['FFN biases', { ffnBias: true }, 2 * smallModel.ffnHiddenSize + smallModel.hiddenSize],
    ['grouped queries', { numKvHeads: 2 }, -2 * 6 * 128 * smallModel.hiddenSize],
  ])('%s', (_, change, difference) => {
    const count = (model: typeof smallModel) => {
      const { sharded, replicated } = kindParameters(model)[0]!;
      return sharded + replicated;
    };
    expect(count({ ...smallModel, ...change }) - count(smallModel)).toBe(difference);
  });
});

test.each([
  [51_200, 1, 51_200],
  [51_200, 8, 51_200],
  [50_257, 1, 50_304],
  [50_257, 8, 51_200],
  [128_256, 8, 129_024],
])('paddedVocabSize: %d words over tp %d are %d', (vocabSize, tp, padded) => {
  expect(paddedVocabSize({ ...smallModel, vocabSize }, tp)).toBe(padded);
});

describe('rankParameters', () => {
  test('of all stages and tp ranks sum to the model, with replicas and padding counted', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem: { model }, plan: { tp, pp } }) => {
        fc.pre(model.numLayers % pp === 0 && model.moe === null && model.mtpLayers === 0);
        const held = Array.from({ length: pp }, (_, index) =>
          stageParameters(model, tp, model.numLayers / pp, { isFirst: index === 0, isLast: index === pp - 1 }),
        ).reduce((sum, count) => sum + tp * count, 0);
        const { hiddenSize, numLayers, vocabSize, tiedEmbeddings } = model;
        const replicas = (tp - 1) * numLayers * kindParameters(model)[0]!.replicated;
        const finalNorm = (tp - 1) * (model.normalization === 'layernorm' ? 2 : 1) * hiddenSize;
        const positions = model.positions === 'learned' ? (tp - 1) * (model.maxPositions ?? 0) * hiddenSize : 0;
        const numMatrices = !tiedEmbeddings || pp > 1 ? 2 : 1;
        const padding = numMatrices * (paddedVocabSize(model, tp) - vocabSize) * hiddenSize;
        const secondCopy = tiedEmbeddings && pp > 1 ? vocabSize * hiddenSize : 0;
        const expected = totalParameters(model) + replicas + finalNorm + positions + padding + secondCopy;
        expect(Math.abs(held / expected - 1)).toBeLessThan(1e-12);
      }),
    );
  });

  test('tied embeddings stand on the first and on the last stage', () => {
    const model = modelOf('gpt-1t');
    const matrix = (51_200 * model.hiddenSize) / 8;
    const at = (isFirst: boolean, isLast: boolean) => stageParameters(model, 8, 2, { isFirst, isLast });
    expect(at(true, false) - at(false, false)).toBe(matrix + 2048 * model.hiddenSize);
    expect(at(false, true) - at(false, false)).toBe(matrix + 2 * model.hiddenSize);
  });

  test('experts are split over ep and etp, the rest over tp; a prediction layer counts as one layer more', () => {
    const moe = {
      numExperts: 8,
      expertsPerToken: 2,
      expertFfnHiddenSize: 512,
      sharedExpertFfnHiddenSize: 0,
      sharedExpertGate: false,
      denseFirst: 0,
      everyN: 1,
      router: null,
    };
    const model = { ...smallModel, moe };
    const held = (ep: number, etp: number, mtpLayers = 0) =>
      rankParameters(model, { tp: 2, ep, etp }, { counts: [4], hasEmbedding: false, hasHead: false, mtpLayers });
    const expert = 3 * model.hiddenSize * 512;
    expect(held(4, 2).experts).toBe((4 * 8 * expert) / 8);
    expect(held(1, 1).experts / held(4, 2).experts).toBe(8);
    expect(held(4, 2).dense).toBe(held(1, 1).dense);
    expect(held(4, 2, 1).experts).toBe((5 * 8 * expert) / 8);
  });
});
