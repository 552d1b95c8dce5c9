import { describe, expect, test } from 'vitest';
import { makePlan } from '../../test/fixtures.ts';
import { parsePatch, patchBetween, patched, patchText } from './plan-patch.ts';

test('a patch goes to text and back', () => {
  const patch = { tp: 4, 'recompute.mode': 'full', sequenceParallel: false };
  expect(patchText(patch)).toBe('tp=4,recompute.mode=full,sequenceParallel=false');
  expect(parsePatch(patchText(patch))).toEqual(patch);
  expect(parsePatch('')).toEqual({});
  expect(parsePatch('nonsense,=3,tp=')).toEqual({ tp: '' });
});

describe('patched', () => {
  const plan = makePlan();
  test('an empty patch is the plan itself', () => {
    expect(patched(plan, {})).toBe(plan);
  });
  test('what follows from a change is left open', () => {
    const next = patched(plan, { pp: 8 });
    expect(next.pp).toBe(8);
    expect(next).not.toHaveProperty('dp');
    expect(next.schedule).toEqual({});
    expect(next).not.toHaveProperty('layout');
    expect(patched(plan, { 'recompute.mode': 'full' }).recompute).toEqual({ mode: 'full' });
  });
  test('modules are a list in the plan and one text in the address', () => {
    const patch = parsePatch('recompute.modules=norms+mlp');
    expect(patched(plan, patch).recompute?.modules).toEqual(['norms', 'mlp']);
    expect(parsePatch(patchText(patch))).toEqual(patch);
  });
  test('sequence parallelism follows where tensor parallelism begins or ends', () => {
    expect(patched(plan, { tp: 1 })).not.toHaveProperty('sequenceParallel');
    expect(patched(plan, { tp: 4 }).sequenceParallel).toBe(true);
    expect(patched(plan, { tp: 1, sequenceParallel: true }).sequenceParallel).toBe(true);
  });
  test('the plan that was patched stays as it was', () => {
    patched(plan, { tp: 1, 'sharding.zeroStage': 3 });
    expect(plan).toEqual(makePlan());
  });
});

test('the patch between two plans makes the second of the first', () => {
  const target = makePlan({ tp: 4, dp: 4, sharding: { zeroStage: 3, group: 'dp', reshardAfterForward: true } });
  const patch = patchBetween(makePlan(), target);
  expect(patch).toEqual({ tp: 4, 'sharding.zeroStage': 3 });
  expect(patched(makePlan(), patch)).toMatchObject({ tp: 4, sharding: { zeroStage: 3 } });
});
