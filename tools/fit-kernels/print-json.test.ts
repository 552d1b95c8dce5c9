import { format } from 'prettier';
import { expect, test } from 'vitest';
import { printJson } from './print-json.ts';

test.each([
  { a: 1, b: { c: 2, d: [1, 2, 3] } },
  { long: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`key${i}`, i])) },
  {
    list: [
      { a: 1, b: 2 },
      { a: 2, b: 3 },
    ],
    text: 'x',
    none: null,
  },
])('prints %j as prettier formats it, with the same content', async (value) => {
  const printed = `${printJson(value)}\n`;
  expect(JSON.parse(printed)).toEqual(value);
  expect(await format(printed, { parser: 'json', printWidth: 120 })).toBe(printed);
});
