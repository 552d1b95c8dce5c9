import { expect, test } from 'vitest';
import { closest, nearest, nearWords } from './closest.ts';

const parts = [
  { id: 'h100-80gb-sxm', aliases: ['h100'] },
  { id: 'h200-141gb-sxm', aliases: ['h200'] },
  { id: 'a100-80gb-sxm' },
  { id: 'gaudi3' },
];

test('the word that was probably meant, or none', () => {
  expect(closest('microBatchSise', ['microBatchSize', 'tp'])).toBe('microBatchSize');
  expect(closest('width', ['tp', 'pp'])).toBeNull();
});

test('the nearest come by any of their names, at most four of them', () => {
  expect(nearest('h110', parts)).toEqual(['h100-80gb-sxm', 'h200-141gb-sxm']);
  expect(nearest('h100000', parts)[0]).toBe('h100-80gb-sxm');
  expect(nearest('80gb', parts)).toEqual(['h100-80gb-sxm', 'a100-80gb-sxm']);
  expect(nearest('wafer', parts)).toEqual([]);
});

test('a remedy names them and where all are', () => {
  expect(nearWords('80gb', parts, 'all 4')).toBe(
    'Did you mean h100-80gb-sxm or a100-80gb-sxm? "trainyard catalog" lists all 4.',
  );
  expect(nearWords('wafer', parts, 'all 4')).toBe('"trainyard catalog" lists all 4.');
});
