import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPlannedSchedule, schedules, type PipelineShape, type StageSeconds } from './index.ts';

const ids = Object.keys(schedules) as (keyof typeof schedules)[];

/** Shapes that a schedule may run: interleaving needs a pipeline and whole groups of micro-batches. */
function shapeArbitrary(id: keyof typeof schedules): fc.Arbitrary<PipelineShape> {
  return fc
    .record({
      pp: fc.integer({ min: 1, max: 32 }),
      vpp: fc.integer({ min: 2, max: 6 }),
      groups: fc.integer({ min: 1, max: 40 }),
    })
    .map(({ pp, vpp, groups }) =>
      id === '1f1b'
        ? { pp, vpp: 1, numMicroBatches: groups }
        : { pp: Math.max(2, pp), vpp, numMicroBatches: groups * Math.max(2, pp) },
    );
}

const seconds = fc.double({ min: 1e-6, max: 10, noNaN: true });
const stageArbitrary = fc.record({
  times: fc.array(seconds, { minLength: 32, maxLength: 32 }),
  send: fc.double({ min: 0, max: 0.1, noNaN: true }),
  isSendHidden: fc.boolean(),
});

const ranks = (shape: PipelineShape) => Array.from({ length: shape.pp }, (_, rank) => rank);
type Times = Omit<StageSeconds, 'perRank'> & { times: number[] };
const stageOf = ({ pp }: PipelineShape, { times, ...rest }: Times): StageSeconds => {
  return { perRank: times.slice(0, pp), ...rest };
};

describe.each(ids)('%s', (id) => {
  const schedule = schedules[id];
  const shapes = shapeArbitrary(id);

  test('is busy for every micro-batch on the slowest rank, and never idles less than nothing', () => {
    fc.assert(
      fc.property(shapes, stageArbitrary, (shape, times) => {
        const stage = stageOf(shape, times);
        const { busy, bubble, sends } = schedule.seconds(shape, stage);
        const slowest = Math.max(...Array.from(stage.perRank));
        expect(busy).toBeCloseTo(shape.numMicroBatches * slowest, 9);
        expect(bubble).toBeGreaterThanOrEqual(-1e-12 * busy);
        expect(sends).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test('lasts at least as long as one micro-batch needs to pass all ranks both ways', () => {
    fc.assert(
      fc.property(shapes, stageArbitrary, (shape, times) => {
        const stage = stageOf(shape, times);
        const { busy, bubble, sends } = schedule.seconds(shape, stage);
        const path = Array.from(stage.perRank).reduce((sum, time) => sum + time, 0);
        // an interleaved micro-batch passes every rank vpp times; what it must is the fill, a vpp-th of the rest
        const least = id === '1f1b' ? path : path / shape.vpp;
        expect(busy + bubble + sends).toBeGreaterThanOrEqual(least * (1 - 1e-12));
      }),
    );
  });

  test('has no bubble and no sends on one rank', () => {
    const shape = { pp: 1, numMicroBatches: 7, vpp: 1 };
    const stage = { perRank: [2], send: 1, isSendHidden: false };
    if (id === '1f1b') expect(schedule.seconds(shape, stage)).toEqual({ busy: 14, bubble: 0, sends: 0 });
  });

  test('keeps at least one and at most all micro-batches in flight, fewer towards the end', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const inFlight = ranks(shape).map((rank) => schedule.inFlight(shape, rank));
        inFlight.forEach((count, rank) => {
          expect(count).toBeGreaterThanOrEqual(Math.min(1, 1 / shape.vpp));
          expect(count).toBeLessThanOrEqual(shape.numMicroBatches);
          if (rank > 0) expect(count).toBeLessThanOrEqual(inFlight[rank - 1]!);
        });
      }),
    );
  });

  test('is not slower with hidden sends', () => {
    fc.assert(
      fc.property(shapes, stageArbitrary, (shape, times) => {
        const stage = stageOf(shape, times);
        const total = (isSendHidden: boolean) => {
          const { busy, bubble, sends } = schedule.seconds(shape, { ...stage, isSendHidden });
          return busy + bubble + sends;
        };
        expect(total(true)).toBeLessThanOrEqual(total(false));
      }),
    );
  });
});

test('1F1B with uneven ranks is bounded above by its closed form, which simulation stays below', () => {
  // slowest first: simulated 40.5
  const stage = { perRank: [4.5, 3, 3, 3], send: 0, isSendHidden: false };
  const { busy, bubble } = schedules['1f1b'].seconds({ pp: 4, numMicroBatches: 8, vpp: 1 }, stage);
  expect(busy + bubble).toBe(45);
  expect(busy + bubble).toBeGreaterThan(40.5);
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

test.each([
  ['1f1b', true],
  ['interleaved-1f1b', true],
  ['gpipe', false],
  ['toString', false],
])('isPlannedSchedule(%s)', (name, planned) => {
  expect(isPlannedSchedule(name)).toBe(planned);
});
