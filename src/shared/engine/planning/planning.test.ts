/** Properties of the planning equations that single vectors do not show. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { modelOf } from '../testing/catalog.ts';
import {
  asynchronousCheckpoint,
  bestFor,
  bestWithInference,
  capitalRecovery,
  carbonTonnes,
  checkpointBytes,
  chinchillaTable,
  chinchillaTokens,
  convertFlops,
  dalyInterval,
  daysOfPhases,
  elapsedPerWork,
  energyKwh,
  exactInterval,
  flopConventions,
  flopsPerTokenBy,
  goodput,
  goodputFirstOrder,
  jobFailureSeconds,
  lambertW,
  lossOf,
  ownershipPerHour,
  scalingLaws,
  sparesExhausted,
  tokensFor,
  trainingFlops,
  youngInterval,
  type FlopConventionName,
} from './index.ts';

const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });

describe('scaling laws', () => {
  test('no split of the compute between model and tokens beats the best', () => {
    fc.assert(
      fc.property(
        between(18, 27),
        between(-1, 1),
        fc.constantFrom(...Object.values(scalingLaws)),
        (exponent, shift, law) => {
          const flops = 10 ** exponent;
          const best = bestFor(law, flops);
          expect(trainingFlops(best.parameters, best.tokens)).toBeCloseTo(flops, -Math.floor(exponent) + 9);
          const parameters = best.parameters * 10 ** shift;
          expect(lossOf(law, parameters, flops / 6 / parameters)).toBeGreaterThanOrEqual(best.loss - 1e-12);
        },
      ),
    );
  });

  test('serving many tokens asks for a smaller model, trained for longer, of the same loss', () => {
    const best = bestFor(scalingLaws.besiroglu, 1e24);
    const served = bestWithInference(scalingLaws.besiroglu, best, 20 * best.tokens);
    expect(served.parameters).toBeLessThan(best.parameters);
    expect(served.tokens).toBeGreaterThan(best.tokens);
    expect(lossOf(scalingLaws.besiroglu, served.parameters, served.tokens)).toBeCloseTo(best.loss, 9);
    for (const factor of [0.9, 1.1]) {
      const parameters = served.parameters * factor;
      const tokens = tokensFor(scalingLaws.besiroglu, parameters, best.loss) ?? Infinity;
      expect(6 * parameters * tokens + 40 * parameters * best.tokens).toBeGreaterThan(served.flops);
    }
    expect(tokensFor(scalingLaws.besiroglu, 1e6, best.loss)).toBeNull();
  });

  test('Hoffmann’s table is met at its rows and grows between and beyond them', () => {
    for (const row of chinchillaTable) expect(chinchillaTokens(row.parameters).tokens).toBeCloseTo(row.tokens, -3);
    expect(chinchillaTokens(30e9).tokens).toBeGreaterThan(205.1e9);
    expect(chinchillaTokens(30e9).tokens).toBeLessThan(1.5e12);
    expect(chinchillaTokens(100e6).tokens).toBeLessThan(8e9);
  });
});

describe('checkpoints', () => {
  test('Lambert’s W solves w·e^w = x', () => {
    fc.assert(
      fc.property(between(-1 / Math.E + 1e-9, 1e6), (x) => {
        const w = lambertW(x);
        expect(Math.abs(w * Math.exp(w) - x)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(x)));
      }),
    );
    expect(() => lambertW(-1)).toThrow(/not real/);
  });

  test('the exact interval is the best one, Daly’s nearly, Young’s too long', () => {
    fc.assert(
      fc.property(between(1, 600), between(3600, 1e6), between(0.5, 2), (checkpointSeconds, failureSeconds, factor) => {
        const exact = exactInterval(checkpointSeconds, failureSeconds);
        const lost = (intervalSeconds: number) =>
          elapsedPerWork({ checkpointSeconds, intervalSeconds, restartSeconds: 300, failureSeconds });
        expect(lost(exact)).toBeLessThanOrEqual(lost(exact * factor) + 1e-12);
        expect(dalyInterval(checkpointSeconds, failureSeconds) / exact).toBeCloseTo(1, 2);
        expect(youngInterval(checkpointSeconds, failureSeconds)).toBeGreaterThan(exact);
      }),
    );
    expect(dalyInterval(100, 40)).toBe(40);
  });

  test('goodput to first order is that of rare failures', () => {
    const plan = { checkpointSeconds: 10, intervalSeconds: 3600, restartSeconds: 300, failureSeconds: 1e6 };
    expect(goodput(plan)).toBeCloseTo(goodputFirstOrder(plan), 4);
    expect(goodput({ ...plan, failureSeconds: 3600 })).toBeGreaterThan(0);
  });

  test('an asynchronous checkpoint waits for the host only', () => {
    const bytes = checkpointBytes(1e12);
    expect(bytes).toBe(14e12);
    const rates = { hostBytesPerSecond: 50e9, storageBytesPerSecond: 280e9 };
    const { waitSeconds, leastIntervalSeconds } = asynchronousCheckpoint({ bytes, ranks: 1000 }, rates);
    expect([waitSeconds, leastIntervalSeconds]).toEqual([0.28, 50]);
  });

  test('more spares run out less often, and none at once when nothing fails', () => {
    const nodes = { nodes: 1000, perNodeDay: 0.005 };
    const chance = [0, 1, 2, 5, 10].map((spares) => sparesExhausted(nodes, 86_400, spares));
    expect([...chance].sort((a, b) => b - a)).toEqual(chance);
    expect(chance[0]).toBeCloseTo(1 - Math.exp(-5), 12);
    expect(sparesExhausted({ nodes: 1000, perNodeDay: 0 }, 86_400, 0)).toBe(0);
  });

  test('a job fails as much more often as it has accelerators', () => {
    expect(jobFailureSeconds(50_000 * 3600, 16_384) / 3600).toBeCloseTo(3.05, 2);
  });
});

describe('FLOP conventions', () => {
  const model = modelOf('llama-3.1-8b');
  const names = Object.keys(flopConventions) as FlopConventionName[];

  test('a figure turned into another convention and back is the same', () => {
    for (const from of names)
      for (const to of names) {
        const there = convertFlops(400, { from, to }, model, 8192);
        expect(convertFlops(there, { from: to, to: from }, model, 8192)).toBeCloseTo(400, 9);
      }
  });

  test('NeMo and Megatron-LM agree where the attention is as wide as the hidden state', () => {
    expect(flopsPerTokenBy('nemo', model, 8192)).toBeCloseTo(flopsPerTokenBy('megatron-lm', model, 8192), 0);
  });

  test('the short form of SC’21 leaves attention out', () => {
    const gpt = modelOf('gpt-175b');
    const share = flopsPerTokenBy('sc21-short', gpt, 2048) / flopsPerTokenBy('sc21', gpt, 2048);
    expect(share).toBeGreaterThan(0.96);
    expect(share).toBeLessThan(0.98);
  });
});

describe('time, cost and energy', () => {
  test('phases follow each other', () => {
    const phase = { tokens: 864e6, tokensPerStep: 1e6, stepSeconds: 10 };
    expect(daysOfPhases([phase, { ...phase, stepSeconds: 20 }])).toBeCloseTo(0.3, 12);
    expect(daysOfPhases([phase], 0.5)).toBeCloseTo(0.2, 12);
  });

  test('an owned node costs its capital, power and operation', () => {
    const owned = {
      nodePrice: 300_000,
      networkShare: 0,
      acceleratorsPerNode: 8,
      interest: 0,
      years: 5,
      nodeKw: 0,
      pue: 1,
      pricePerKwh: 0.1,
      operationShare: 0,
      used: 1,
    };
    expect(ownershipPerHour(owned)).toBeCloseTo(300_000 / 5 / 8 / 8760, 9);
    expect(ownershipPerHour({ ...owned, nodeKw: 8 }) - ownershipPerHour(owned)).toBeCloseTo(0.1, 9);
    expect(ownershipPerHour({ ...owned, used: 0.5 })).toBeCloseTo(2 * ownershipPerHour(owned), 9);
    expect(capitalRecovery(0.1, 5)).toBeCloseTo(0.2638, 4);
  });

  test('energy grows with each factor, and a grid makes tonnes of it', () => {
    expect(energyKwh(1000, 700, { utilisation: 1, nodeFactor: 1, pue: 1 })).toBe(700);
    expect(carbonTonnes(1000, 0.4)).toBe(0.4);
  });
});
