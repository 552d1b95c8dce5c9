/**
 * Every derived and published vector of the planning model within its tolerance, one test each. The name of a test says
 * which production functions answered.
 */
import { describe, expect, test } from 'vitest';
import { exactAnswers, missOf, vectors } from '../testing/vectors/index.ts';

const sections = [...new Set(vectors.map(({ section }) => section))].sort();

describe.each(sections)('section %s', (section) => {
  const rows = vectors
    .filter((vector) => vector.section === section)
    .flatMap((vector) => exactAnswers.filter(({ ids }) => ids.test(vector.id)).map((answer) => ({ vector, answer })))
    .map((row) => ({ ...row, id: row.vector.id, by: row.answer.by }));

  test.each(rows)('$id by $by', ({ vector, answer }) => {
    const value = answer.value(vector);
    expect(answer.judge === undefined ? missOf(vector, value) : answer.judge(vector, value)).toBeNull();
  });
});
