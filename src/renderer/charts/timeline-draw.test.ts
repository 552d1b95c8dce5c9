import { describe, expect, test } from 'vitest';
import type { Timeline } from '#shared/schema/index.ts';
import {
  describeAt,
  LABEL_WIDTH,
  operationAt,
  passesOf,
  shifted,
  tickStep,
  timelineTable,
  zoomed,
} from './timeline-draw.ts';

const rank = (index: number, starts: number[], ends: number[]) => ({
  rank: index,
  busySeconds: 2,
  idleSeconds: 2,
  starts,
  ends,
  kinds: [0, 1],
  stages: [index, index],
  microBatches: [0, 0],
});
const timeline: Timeline = {
  ...{ schedule: '1F1B', pp: 2, vpp: 1, numMicroBatches: 1, makespanSeconds: 4, estimateSeconds: 4 },
  ...{ sendSeconds: 0, operations: 4, ranks: [rank(0, [0, 3], [1, 4]), rank(1, [1, 2], [2, 3])] },
};

describe('the pipeline’s timeline', () => {
  test('finds the pass at a time, and nothing in a bubble', () => {
    const [first] = timeline.ranks;
    if (first === undefined) throw new Error('no rank');
    expect([operationAt(first, 0.5), operationAt(first, 2), operationAt(first, 3.5)]).toEqual([0, null, 1]);
  });
  test('says what is under the pointer', () => {
    const look = { span: { from: 0, to: 4 }, width: LABEL_WIDTH + 400 };
    expect(describeAt(timeline, { x: LABEL_WIDTH + 350, y: 5 }, look)).toBe(
      'Stage 1: backward of micro-batch 1, 1 s from 3 s',
    );
    expect(describeAt(timeline, { x: LABEL_WIDTH + 200, y: 5 }, look)).toBe('Stage 1 waits at 2 s');
    expect(describeAt(timeline, { x: 3, y: 5 }, look)).toBeNull();
    expect(describeAt(timeline, { x: LABEL_WIDTH + 200, y: 500 }, look)).toBeNull();
  });
  test('zooms about a time that stays where it is, and never leaves the step', () => {
    expect(zoomed({ from: 0, to: 4 }, { factor: 0.5, at: 1, end: 4 })).toEqual({ from: 0.5, to: 2.5 });
    expect(zoomed({ from: 1, to: 2 }, { factor: 100, at: 1, end: 4 })).toEqual({ from: 0, to: 4 });
    expect(shifted({ from: 1, to: 2 }, Infinity, 4)).toEqual({ from: 3, to: 4 });
    expect(shifted({ from: 1, to: 2 }, -Infinity, 4)).toEqual({ from: 0, to: 1 });
  });
  test('ticks are round, and no more than fit', () => {
    expect([tickStep(69.5, 10), tickStep(1, 10), tickStep(0.03, 4)]).toEqual([10, 0.1, 0.01]);
  });
  test('has a legend of what occurs, and a table of work and waiting', () => {
    expect(passesOf(timeline)).toEqual(['forward', 'backward']);
    expect(timelineTable(timeline).rows[1]).toEqual([2, 2, 2, 50, 2]);
  });
});
