import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { peakActivations, simulate } from '../simulate.ts';
import { dualPipeBubble } from './dual-pipe.ts';
import {
  isPlannedSchedule,
  schedules,
  type PipelineShape,
  type PlannedSchedule,
  type Schedule,
  type StageSeconds,
} from './index.ts';
import { stageTimes } from './simulated.ts';
import { WEIGHT_GRADIENT_SHARE } from './types.ts';
import { zeroBubbleH2Cost } from './zero-bubble-h.ts';

const ids = Object.keys(schedules) as PlannedSchedule[];
const scheduleNamed = (id: PlannedSchedule): Schedule => schedules[id];

/** Shapes that a schedule may run, up to 8 ranks and about 40 micro-batches. */
function shapeArbitrary(id: PlannedSchedule): fc.Arbitrary<PipelineShape> {
  const { needs } = scheduleNamed(id);
  const vpps = { one: [1], two: [2], several: [2, 3, 4] };
  return fc
    .record({
      pp: fc.integer({ min: 2, max: 8 }),
      vpp: fc.constantFrom(...vpps[needs.chunks]),
      more: fc.integer({ min: 0, max: 16 }),
    })
    .map(({ pp, vpp, more }) => {
      const ranks = needs.isPpEven === true ? 2 * Math.ceil(pp / 2) : pp;
      const shape = { pp: ranks, vpp, numMicroBatches: 1 };
      const multiple = needs.microBatchMultiple?.(shape) ?? 1;
      const least = Math.max(needs.leastMicroBatches?.(shape) ?? 1, multiple);
      return { ...shape, numMicroBatches: Math.ceil((least + more) / multiple) * multiple };
    });
}

const seconds = fc.double({ min: 0.5, max: 2, noNaN: true });
const stageArbitrary = fc.record({
  times: fc.array(seconds, { minLength: 8, maxLength: 8 }),
  send: fc.double({ min: 0, max: 0.1, noNaN: true }),
  isSendHidden: fc.boolean(),
});
type Times = Omit<StageSeconds, 'perRank'> & { times: number[] };
const stageOf = ({ pp }: PipelineShape, { times, ...rest }: Times): StageSeconds => {
  return { perRank: times.slice(0, pp), ...rest };
};
const total = (parts: { busy: number; bubble: number; sends: number }) => parts.busy + parts.bubble + parts.sends;
const equalRanks = (pp: number, f: number, i: number, w: number): StageSeconds => {
  const all = (value: number) => new Array<number>(pp).fill(value);
  const times = { perRank: all(f + i + w), forwardPerRank: all(f), weightGradientPerRank: all(w) };
  return { ...times, send: 0, isSendHidden: true };
};
const relative = (value: number) => 1e-9 * Math.max(1, value);

describe.each(ids)('%s', (id) => {
  const schedule = scheduleNamed(id);
  const shapes = shapeArbitrary(id);

  test('runs every forward and backward of every micro-batch once, each on the rank of its stage', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const order = schedule.order(shape);
        const cells = order.numStages * order.microBatchesPerPath;
        const done = { F: new Set<number>(), I: new Set<number>(), W: new Set<number>() };
        const mark = (pass: 'F' | 'I' | 'W', rank: number, stage: number, microBatch: number) => {
          expect(order.rankOfStage[stage]).toBe(rank);
          done[pass].add(stage * order.microBatchesPerPath + microBatch);
        };
        let counted = 0;
        order.ranks.forEach((list, rank) =>
          list.kinds.forEach((kind, index) => {
            const stage = list.stages[index]!;
            const microBatch = list.microBatches[index]!;
            const passes = (['F', 'IW', 'I', 'W', 'F'] as const)[kind]!;
            for (const pass of passes) mark(pass as 'F', rank, stage, microBatch);
            counted += passes.length;
            if (kind !== 4) return;
            for (const pass of ['I', 'W'] as const)
              mark(pass, rank, list.pairStages[index]!, list.pairMicroBatches[index]!);
            counted += 2;
          }),
        );
        expect([done.F.size, done.I.size, done.W.size, counted]).toEqual([cells, cells, cells, 3 * cells]);
      }),
      { numRuns: 20 },
    );
  });

  test('never deadlocks, and no rank works longer than the makespan', () => {
    fc.assert(
      fc.property(shapes, stageArbitrary, (shape, times) => {
        const stage = stageOf(shape, times);
        const order = schedule.order(shape);
        const { makespan, cost, idle } = simulate(order, stageTimes(order, stage));
        expect(cost).toBeLessThanOrEqual(makespan);
        expect(Math.min(...idle)).toBeGreaterThanOrEqual(-relative(makespan));
        const path = Array.from(stage.perRank).reduce((sum, time) => sum + time, 0);
        if (schedule.modelCopies === 1) expect(makespan).toBeGreaterThanOrEqual(path / shape.vpp / 2);
      }),
      { numRuns: 30 },
    );
  });

  test('takes as long in closed form as in the simulation, with equal ranks', () => {
    fc.assert(
      fc.property(shapes, fc.tuple(seconds, seconds, seconds), (shape, [a, b, w]) => {
        const [f, i] = [Math.min(a, b), Math.max(a, b)];
        const stage = equalRanks(shape.pp, f, i, Math.min(w, i));
        const order = schedule.order(shape);
        const { makespan } = simulate(order, stageTimes(order, stage));
        const form = schedule.seconds(shape, stage);
        // 2BW never drains: one batch more takes its work and nothing else
        const drain = id === 'pipedream-2bw' ? (shape.pp - 1) * (stage.perRank[0] ?? 0) : 0;
        expect(Math.abs(total(form) + drain - makespan)).toBeLessThanOrEqual(relative(makespan));
      }),
      { numRuns: 50 },
    );
  });

  test('holds as much in closed form as its order does', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const share = ['zb-v', 'dualpipe', 'dualpipe-v'].includes(id) ? 0 : WEIGHT_GRADIENT_SHARE;
        const perRank = shape.vpp * schedule.modelCopies;
        peakActivations(schedule.order(shape), share).forEach((peak, rank) => {
          const form = schedule.inFlight(shape, rank);
          // the closed form of the split schedules is the paper's, reached only by enough micro-batches
          if (id === 'zb-h1' || id === 'zb-h2') expect(form).toBeGreaterThanOrEqual(peak / perRank - 1e-9);
          else expect(form).toBeCloseTo(peak / perRank, 9);
        });
      }),
      { numRuns: 50 },
    );
  });

  test('splits its time into the slowest rank’s work, the rest and messages', () => {
    fc.assert(
      fc.property(shapes, stageArbitrary, (shape, times) => {
        const stage = stageOf(shape, times);
        const { busy, bubble, sends } = schedule.seconds(shape, stage);
        const slowest = Math.max(...Array.from(stage.perRank));
        expect(busy).toBeCloseTo(shape.numMicroBatches * slowest, 9);
        // two copies of the model share the slowest stage between two ranks
        if (schedule.modelCopies === 1) expect(bubble).toBeGreaterThanOrEqual(-relative(busy));
        expect(sends).toBeGreaterThanOrEqual(-relative(busy));
      }),
      { numRuns: 30 },
    );
  });

  test('is not slower with hidden sends', () => {
    fc.assert(
      fc.property(shapes, stageArbitrary, (shape, times) => {
        const stage = stageOf(shape, times);
        const of = (isSendHidden: boolean) => total(schedule.seconds(shape, { ...stage, isSendHidden }));
        expect(of(true)).toBeLessThanOrEqual(of(false) + relative(of(false)));
      }),
      { numRuns: 20 },
    );
  });
});

describe.each(['gpipe', '1f1b', 'interleaved-1f1b', 'interleaved-bfs'] as const)('%s, messages and ranks', (id) => {
  const schedule = scheduleNamed(id);

  test('messages beside compute delay as the simulation says', () => {
    fc.assert(
      fc.property(shapeArbitrary(id), fc.double({ min: 0, max: 0.2, noNaN: true }), (shape, share) => {
        const stage = { ...equalRanks(shape.pp, 1, 1, 1), send: share / shape.vpp / 2 };
        const order = schedule.order(shape);
        const { makespan } = simulate(order, stageTimes(order, stage));
        expect(Math.abs(total(schedule.seconds(shape, stage)) - makespan)).toBeLessThanOrEqual(relative(makespan));
      }),
      { numRuns: 50 },
    );
  });

  test('uneven ranks: the closed form is an upper bound, and no less than the slowest rank’s work', () => {
    fc.assert(
      fc.property(shapeArbitrary(id), stageArbitrary, (shape, times) => {
        const stage = { ...stageOf(shape, times), send: 0 };
        const order = schedule.order(shape);
        const { makespan } = simulate(order, stageTimes(order, stage));
        const form = schedule.seconds(shape, stage);
        expect(makespan).toBeGreaterThanOrEqual(form.busy - relative(form.busy));
        if (shape.vpp === 1) expect(total(form)).toBeGreaterThanOrEqual(makespan - relative(makespan));
      }),
      { numRuns: 50 },
    );
  });
});

test('1F1B is simulated exactly where its closed form is a bound: the slowest rank first', () => {
  const stage = { perRank: [4.5, 3, 3, 3], send: 0, isSendHidden: false };
  const shape = { pp: 4, numMicroBatches: 8, vpp: 1 };
  expect(total(schedules['1f1b'].seconds(shape, stage))).toBe(45);
  const order = schedules['1f1b'].order(shape);
  expect(simulate(order, stageTimes(order, stage)).makespan).toBe(40.5);
});

test('1F1B has no bubble and no sends on one rank', () => {
  const stage = { perRank: [2], send: 1, isSendHidden: false };
  const seconds = schedules['1f1b'].seconds({ pp: 1, numMicroBatches: 7, vpp: 1 }, stage);
  expect(seconds).toEqual({ busy: 14, bubble: 0, sends: 0 });
});

test('interleaving divides the fill by its chunks and multiplies the sends', () => {
  const stage = { perRank: [3, 3, 3, 3], send: 0.1, isSendHidden: false };
  const plain = schedules['1f1b'].seconds({ pp: 4, numMicroBatches: 8, vpp: 1 }, { ...stage, send: 0 });
  const chunked = schedules['interleaved-1f1b'].seconds({ pp: 4, numMicroBatches: 8, vpp: 3 }, { ...stage, send: 0 });
  expect(chunked.bubble).toBeCloseTo(plain.bubble / 3, 12);
  const sends = (vpp: number) => schedules['interleaved-1f1b'].seconds({ pp: 4, numMicroBatches: 8, vpp }, stage).sends;
  // 2·(m−1)·v exchanges and 2·(p·v−1) hops of fill and drain
  expect([1, 2, 4].map(sends)).toEqual([1, 2, 4].map((vpp) => expect.closeTo(0.1 * 2 * (7 * vpp + 4 * vpp - 1), 12)));
});

test('a larger group holds more and takes as long; one below pp can never run', () => {
  const shape = { pp: 4, numMicroBatches: 16, vpp: 2 };
  const stage = equalRanks(4, 1, 1, 1);
  const schedule = schedules['interleaved-1f1b'];
  for (const groupSize of [4, 8, 16]) {
    const order = schedule.order({ ...shape, groupSize });
    expect(simulate(order, stageTimes(order, stage)).makespan).toBeCloseTo(3 * 16 + 3 * 1.5, 9);
    expect(peakActivations(order, 0)[0]! / 2).toBe(schedule.inFlight({ ...shape, groupSize }, 0));
  }
  const deadlocked = schedule.order({ ...shape, groupSize: 2 });
  expect(() => simulate(deadlocked, stageTimes(deadlocked, stage))).toThrow(/deadlock/);
});

test('the cost of ZB-H2 is its makespan less the skew of the ranks', () => {
  const shape = { pp: 8, numMicroBatches: 32, vpp: 1 };
  for (const [f, i, w] of [
    [1, 1, 1],
    [1, 1.2, 0.8],
    [1, 2, 1],
  ] as const) {
    const order = schedules['zb-h2'].order(shape);
    const { cost } = simulate(order, stageTimes(order, equalRanks(8, f, i, w)));
    expect(cost).toBeCloseTo(zeroBubbleH2Cost(shape, { forward: f, inputGradient: i, weightGradient: w }), 9);
  }
});

test('DualPipe idles as its README says when all passes take as long, whatever the pairs gain', () => {
  fc.assert(
    fc.property(fc.constantFrom(4, 8, 12), fc.double({ min: 0.7, max: 1, noNaN: true }), (pp, pairFactor) => {
      const order = schedules.dualpipe.order({ pp, numMicroBatches: 2 * pp, vpp: 1 });
      const { idle } = simulate(order, { ...stageTimes(order, equalRanks(pp, 1, 1, 1)), pairFactor });
      const passes = { forward: 1, inputGradient: 1, weightGradient: 1, pair: 3 * pairFactor };
      expect(idle[pp / 2 - 1]).toBeCloseTo(dualPipeBubble(pp / 2, passes), 9);
    }),
  );
});

test('V-Half and V-Min hold about a half and a third of ZB-V', () => {
  const shape = { pp: 16, numMicroBatches: 64, vpp: 2 };
  const most = (id: PlannedSchedule) =>
    Math.max(...Array.from({ length: 16 }, (_, rank) => schedules[id].inFlight(shape, rank)));
  expect(most('v-half') / most('zb-v')).toBeCloseTo(0.5, 0);
  expect(most('v-half')).toBeLessThan(0.6 * most('zb-v'));
  expect(most('v-min')).toBeLessThan(0.4 * most('zb-v'));
});

test.each([
  ['1f1b', true],
  ['interleaved-1f1b', true],
  ['gpipe', true],
  ['dualpipe-v', true],
  ['custom', false],
  ['toString', false],
])('isPlannedSchedule(%s)', (name, planned) => {
  expect(isPlannedSchedule(name)).toBe(planned);
});
