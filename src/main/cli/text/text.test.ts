import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatBars } from './bars.ts';
import { clip, formatTable, type Column } from './table.ts';

const rows = [
  { name: 'first', size: 1, note: 'a short note' },
  { name: 'second', size: 1000, note: 'a note that is much longer than the others are' },
];
const columns: Column<(typeof rows)[number]>[] = [
  { title: 'name', cell: ({ name }) => name, align: 'left' },
  { title: 'size', cell: ({ size }) => String(size) },
  { title: 'note', cell: ({ note }) => note, align: 'left', flex: true, rank: 1 },
];

describe('formatTable', () => {
  test('words stand left, numbers right', () => {
    expect(formatTable(rows, columns.slice(0, 2), 80)).toBe(
      ['name    size', '──────  ────', 'first      1', 'second  1000', ''].join('\n'),
    );
  });
  test('a flexible column is cut, then left out', () => {
    expect(formatTable(rows, columns, 40).split('\n')[3]).toBe('second  1000  a note that is much longe…');
    expect(formatTable(rows, columns, 24)).toBe(formatTable(rows, columns.slice(0, 2), 24));
  });
  test('no row gives the titles', () => {
    expect(formatTable([], columns, 80)).toBe('name  size  note\n────  ────  ────\n');
  });
  test('is never wider than asked for, where its numbers fit', () => {
    const cell = fc.record({ name: fc.string({ maxLength: 60 }), size: fc.nat(), note: fc.string({ maxLength: 200 }) });
    fc.assert(
      fc.property(fc.array(cell), fc.integer({ min: 30, max: 200 }), (some, width) => {
        const printable = some.map((row) => ({
          ...row,
          name: row.name.replaceAll(/\s/g, '_'),
          note: row.note.replaceAll(/\s/g, '_'),
        }));
        for (const line of formatTable(printable, columns, width).split('\n'))
          expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

test('clip', () => {
  expect([clip('abc', 3), clip('abcd', 3), clip('abcd', 0)]).toEqual(['abc', 'ab…', '…']);
});

describe('formatBars', () => {
  const bars = [
    { label: 'all', value: 8, text: '8 s' },
    { label: 'half', value: 4, text: '4 s' },
    { label: 'trace', value: 1e-9, text: '0 s' },
    { label: 'none', value: 0, text: '–' },
  ];
  test('lengths follow the values; a trace is seen, nothing is not', () => {
    expect(formatBars(bars, 20)).toBe(
      ['all    ████████  8 s', 'half   ████      4 s', 'trace  ▏         0 s', 'none               –', ''].join('\n'),
    );
  });
  test('a limit is marked where no bar covers it', () => {
    const lines = formatBars(bars, 20, 6).split('\n');
    expect(lines[0]).toBe('all    ████████  8 s');
    expect(lines[1]).toBe('half   ████ │    4 s');
  });
  test('nothing to draw', () => {
    expect(formatBars([{ label: 'a', value: 0, text: '0' }], 20)).toBe('');
    expect(formatBars([], 20)).toBe('');
  });
});
