import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completePlan, evaluatePlan } from '../index.ts';
import { groupOf, groupSeconds, linksOf } from '../network/index.ts';
import { StepModel } from '../step/index.ts';
import { caseArbitrary } from '../testing/arbitraries.ts';
import { problemOf } from '../testing/problems.ts';
import { communicationsOf } from './communication.ts';
import { waterfallOf } from './waterfall.ts';

describe('the table of communications', () => {
  test('never waits for more than there is, and waits for what the waterfall says', () => {
    fc.assert(
      fc.property(caseArbitrary, ({ problem, plan }) => {
        const cost = new StepModel(problem).cost(plan);
        const table = communicationsOf(problem, plan, cost);
        for (const row of table) {
          expect(row.exposedSeconds).toBeLessThanOrEqual(row.totalSeconds * (1 + 1e-9));
          expect(row.callsPerStep * row.secondsPerCall).toBeCloseTo(row.totalSeconds, 9);
        }
        const waterfall = waterfallOf(problem, plan, cost);
        const lost = (label: string) => waterfall.find((step) => step.label === label)?.seconds ?? 0;
        const waited = (...groups: string[]) =>
          table.filter((row) => groups.includes(row.group)).reduce((sum, row) => sum + row.exposedSeconds, 0);
        // with ZeRO-2 and 3 every stage waits for its own shards: the waterfall shows the mean, the table one rank
        if (plan.sharding.zeroStage < 2)
          expect(waited('dp', 'edp')).toBeCloseTo(lost('Data-parallel communication'), 9);
        expect(waited('pp')).toBeCloseTo(lost('Pipeline sends'), 9);
        expect(waited('embedding')).toBeCloseTo(lost('Tied-embedding exchange'), 9);
      }),
    );
  });

  test('counts what runs beside a matmul, too', () => {
    const problem = problemOf({ numAccelerators: 8 });
    const row = (overlap: boolean) => {
      const plan = completePlan(problem, { tp: 8, overlap: { tp: overlap } });
      return communicationsOf(problem, plan, new StepModel(problem).cost(plan)).find(({ group }) => group === 'tp');
    };
    expect(row(true)?.totalSeconds).toBeCloseTo(row(false)?.totalSeconds ?? 0, 12);
    expect(row(true)?.exposedSeconds).toBeCloseTo(0.3 * (row(false)?.exposedSeconds ?? 0), 12);
    expect(row(false)?.exposedSeconds).toBeLessThan(row(false)?.totalSeconds ?? 0);
  });
});

test('first and last stage of one node exchange the tied embedding inside it', () => {
  const problem = problemOf({ numAccelerators: 8, model: { tiedEmbeddings: true } });
  const { estimate } = evaluatePlan(problem, { pp: 4 });
  const exchange = estimate?.communication.find((row) => row.group === 'embedding');
  expect(exchange?.placement).toBe('scale-up');
  const inside = groupSeconds(linksOf(problem), 'allReduce', groupOf(8, 2, 1), exchange?.bytesPerCall ?? 0);
  expect(exchange?.totalSeconds).toBeCloseTo(inside, 12);
});

test('a part without measured kernels keeps the bandwidth of its own links', () => {
  const problem = problemOf({ accelerator: 'h100-80gb-pcie', numAccelerators: 2 });
  const bytes = 2 ** 30;
  const busBytesPerSecond = bytes / groupSeconds(linksOf(problem), 'allReduce', groupOf(2, 2, 1), bytes);
  expect(busBytesPerSecond).toBeLessThan(64e9);
  expect(busBytesPerSecond).toBeGreaterThan(0.5 * 64e9);
});

test('sequence parallelism gathers the embedding’s gradient in backward', () => {
  const problem = problemOf({ numAccelerators: 8 });
  const embedding = (sequenceParallel: boolean) =>
    new StepModel(problem).cost(completePlan(problem, { tp: 8, sequenceParallel })).embedding.backward.communication;
  expect(embedding(false)).toBe(0);
  expect(embedding(true)).toBeGreaterThan(0);
});

test('a slowest stage without a layer has no tensor-parallel traffic, and no number is lost', () => {
  const { estimate } = evaluatePlan(problemOf({ model: { numLayers: 1, vocabSize: 512_000 }, numAccelerators: 8 }), {
    tp: 4,
    pp: 2,
    layout: 'Et|L',
  });
  for (const row of estimate!.communication) expect(row.totalSeconds).toBeGreaterThanOrEqual(0);
});
