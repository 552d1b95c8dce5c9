/** No vector is left out in silence: each of the 852 has one answer, or one owner whose work it waits for. */
import { expect, test } from 'vitest';
import { answersOf, exactAnswers, measuredAnswers, pending, vectors } from '../testing/vectors/index.ts';
import { uncovered } from '../testing/vectors/report.ts';

test('all 852 vectors are there, each once', () => {
  expect(vectors).toHaveLength(852);
  expect(new Set(vectors.map(({ id }) => id)).size).toBe(852);
});

test('each has one answer or waits for one owner', () => {
  expect(uncovered()).toEqual([]);
});

test('every derived and published vector is answered to its tolerance, or waits', () => {
  const isLoose = (kind: string) => kind !== 'derived' && kind !== 'published';
  const loose = vectors
    .filter(({ kind }) => !isLoose(kind))
    .filter((vector) => answersOf(vector).some((answer) => measuredAnswers.includes(answer)));
  expect(loose.map(({ id }) => id)).toEqual([]);
});

test('no answer and no entry of the waiting list is idle', () => {
  const idle = [...exactAnswers, ...measuredAnswers, ...pending].filter(
    ({ ids }) => !vectors.some(({ id }) => ids.test(id)),
  );
  expect(idle).toEqual([]);
});

test('what waits, by owner', () => {
  const counts = pending.map(({ owner, ids }) => `${owner} ${vectors.filter(({ id }) => ids.test(id)).length}`);
  expect(counts).toEqual(['step 1']);
});
