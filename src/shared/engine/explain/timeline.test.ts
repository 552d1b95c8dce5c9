import { describe, expect, test } from 'vitest';
import { passKinds, timelineSchema } from '../../schema/index.ts';
import { exampleProblem, problemOf } from '../testing/problems.ts';
import { timelineOf } from './timeline.ts';

const small = problemOf({ numAccelerators: 8, globalBatchSize: 16 });

describe('the timeline of a pipeline', () => {
  test.each([
    ['1f1b', { pp: 4 }, ['forward', 'backward']],
    ['interleaved-1f1b', { pp: 4, vpp: 2 }, ['forward', 'backward']],
    ['zb-h1', { pp: 4 }, ['forward', 'input-gradient', 'weight-gradient']],
  ] as const)(
    '%s: every micro-batch passes every stage once, one after another on each rank',
    (name, split, passes) => {
      const timeline = timelineOf(small, { tp: 1, ...split, schedule: { name } });
      if (timeline === null) throw new Error('no timeline');
      expect(timelineSchema.parse(timeline)).toEqual(timeline);
      const { numMicroBatches, vpp, makespanSeconds } = timeline;
      expect(timeline.ranks).toHaveLength(4);
      for (const rank of timeline.ranks) {
        expect(rank.starts).toHaveLength(passes.length * numMicroBatches * vpp);
        expect(new Set(rank.kinds.map((kind) => passKinds[kind]))).toEqual(new Set(passes));
        rank.starts.forEach((start, index) => {
          if (index > 0) expect(start).toBeGreaterThanOrEqual(rank.ends[index - 1] ?? 0);
        });
        expect(rank.busySeconds + rank.idleSeconds).toBeCloseTo(makespanSeconds, 12);
      }
    },
  );

  test('takes what the estimate takes, where the last stage is the slowest', () => {
    const timeline = timelineOf(small, { tp: 1, pp: 4, schedule: { name: '1f1b' }, overlap: { pipeline: true } });
    expect(timeline?.makespanSeconds).toBeLessThanOrEqual((timeline?.estimateSeconds ?? 0) * (1 + 1e-9));
    expect(timeline?.makespanSeconds).toBeGreaterThan(0.97 * (timeline?.estimateSeconds ?? 0));
  });

  test('too many operations are drawn of some ranks, the first and the last among them', () => {
    const problem = exampleProblem('gpt-1t');
    const timeline = timelineOf(problem, { ...problem.referencePlan, microBatchSize: 1, tp: 4, pp: 128 });
    if (timeline === null) throw new Error('no timeline');
    expect(timeline.operations).toBe(128 * 2 * 512);
    expect(timeline.ranks.length).toBeLessThan(128);
    expect([timeline.ranks[0]?.rank, timeline.ranks.at(-1)?.rank]).toEqual([0, 127]);
  });

  test('one stage, or a plan that breaks a rule, has none', () => {
    expect(timelineOf(small, { tp: 2, pp: 1 })).toBeNull();
    expect(timelineOf(small, { tp: 3, pp: 2 })).toBeNull();
  });
});
