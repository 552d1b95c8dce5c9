import { describe, expect, test } from 'vitest';
import { makeScenario } from '../test/fixtures.ts';
import { draftOf, historyOf, isSameDraft, pushed, redone, undone, valueAt, withValue, withValues } from './draft.ts';

describe('paths', () => {
  const draft = { model: { hiddenSize: 1, moe: null }, name: 'x' };
  test('read', () => {
    expect(valueAt(draft, 'model.hiddenSize')).toBe(1);
    expect(valueAt(draft, 'model.moe.numExperts')).toBeUndefined();
    expect(valueAt(draft, 'nothing.here')).toBeUndefined();
  });
  test('write a copy that shares what is not on the path', () => {
    const next = withValue(draft, 'name', 'y');
    expect(next).toEqual({ model: { hiddenSize: 1, moe: null }, name: 'y' });
    expect(next['model']).toBe(draft.model);
    expect(draft.name).toBe('x');
  });
  test('write below null and below nothing', () => {
    expect(withValue(draft, 'model.moe.numExperts', 8)).toMatchObject({ model: { moe: { numExperts: 8 } } });
    expect(withValues({}, { 'a.b': 1, c: 2 })).toEqual({ a: { b: 1 }, c: 2 });
  });
  test('a draft has no results, and equals itself after a trip through JSON', () => {
    const draft = draftOf(makeScenario());
    expect('results' in draft).toBe(false);
    expect(isSameDraft(draft, JSON.parse(JSON.stringify(draft)) as typeof draft)).toBe(true);
    expect(isSameDraft(draft, withValue(draft, 'name', 'other'))).toBe(false);
  });
});

describe('history', () => {
  test('walks back and forth, and a new step ends the future', () => {
    const three = pushed(pushed(historyOf(1), 2), 3);
    expect(undone(three).present).toBe(2);
    expect(redone(undone(three)).present).toBe(3);
    expect(undone(undone(undone(three))).present).toBe(1);
    expect(pushed(undone(three), 4).future).toEqual([]);
  });
  test('merging keeps one step', () => {
    const merged = pushed(pushed(historyOf('a'), 'b'), 'bc', true);
    expect(merged.present).toBe('bc');
    expect(undone(merged).present).toBe('a');
  });
  test('is bounded', () => {
    let history = historyOf(0);
    for (let n = 1; n < 1000; n++) history = pushed(history, n);
    expect(history.past.length).toBe(200);
  });
});
