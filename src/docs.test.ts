/** What people are sent to look up is there, and says what the program does. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { calibrationFileSchema } from './shared/schema/index.ts';

const root = path.resolve(import.meta.dirname, '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const shipped = globSync(
  ['src/**/*.{ts,vue,md,json}', '{tools,bench,e2e,config}/**/*.{ts,mjs,sh}', 'docs/**/*.md', '*.md'],
  { cwd: root },
)
  .map((file) => file.split(path.sep).join('/'))
  .filter((file) => file !== 'src/docs.test.ts');

/** Numbers of a document's headings: `## 3. Memory` and `### 3.1 Weights` as 3 and 3.1. */
const sectionsOf = (file: string) =>
  new Set([...read(file).matchAll(/^#{2,3} (\d+(?:\.\d+)?)\b/gm)].map(([, number]) => number));

describe.each([
  ['docs/MODEL.md', /\bMODEL(?:\.md)?\)? §[^;:'"`)\]]*/g],
  ['docs/FORMATS.md', /\bFORMATS(?:\.md)?\)? §[^;:'"`)\]]*/g],
])('%s', (document, citation) => {
  test('has every section that is cited', () => {
    const sections = sectionsOf(document);
    const cited = shipped.flatMap((file) =>
      [...read(file).matchAll(citation)].flatMap(([text]) =>
        [...text.matchAll(/§(\d+(?:\.\d+)?)/g)].map(([, number]) => ({ file, number })),
      ),
    );
    expect(cited.length).toBeGreaterThan(5);
    expect(cited.filter(({ number }) => !sections.has(number))).toEqual([]);
  });
});

test('nothing that ships cites a paper that does not', () => {
  const internal =
    /\b(REFERENCE|CALIBRATION|MEASURE|ASKS|PRODUCT|CONTRACT|ARCHITECTURE|STACK|STYLE)( §|\.md)|\bK22\b|\/shared\/model/;
  expect(shipped.filter((file) => internal.test(read(file)))).toEqual([]);
});

test('links between documents lead somewhere', () => {
  const broken = shipped
    .filter((file) => /^(docs\/|CONTRIBUTING).*\.md$/.test(file))
    .flatMap((file) =>
      [...read(file).matchAll(/\]\(([^)#\s]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^https?:/.test(target))
        .filter((target) => !existsSync(path.join(root, path.dirname(file), target)))
        .map((target) => ({ file, target })),
    );
  expect(broken).toEqual([]);
});

describe('figures in docs/MODEL.md', () => {
  /** The cells of table rows that start with a `name`, between two headings. */
  const rowsOf = (from: string, to: string) => {
    const text = read('docs/MODEL.md');
    const part = text.slice(text.indexOf(`\n${from}`), text.indexOf(`\n${to}`));
    return [...part.matchAll(/^\| `(\w+)`\s*\|(.*)\|$/gm)].map(([, name = '', cells = '']) => ({
      name,
      cells: cells.split('|').map((cell) => cell.trim()),
    }));
  };
  const curve = z.looseObject({ bf16: z.record(z.string(), z.unknown()) });
  const curves = z
    .looseObject({ accelerators: z.record(z.string(), z.looseObject({ matmul: curve, attention: curve })) })
    .parse(JSON.parse(read('resources/calibration/kernels.json'))).accelerators;

  test('the fitted constants are those of step-time.json', () => {
    const { parameters } = calibrationFileSchema.parse(JSON.parse(read('resources/calibration/step-time.json')));
    const printed = rowsOf('## 9.', '### 9.2').map(({ name, cells }) => [name, Number(cells[2]), Number(cells[4])]);
    expect(printed).toEqual(Object.entries(parameters).map(([name, { prior, value }]) => [name, prior, value]));
  });

  test.each([
    ['matmul', '### 4.1', '### 4.2'],
    ['attention', '### 4.2', '### 4.3'],
  ] as const)('the %s curves are those of kernels.json', (kind, from, to) => {
    const rows = rowsOf(from, to);
    expect(rows.length).toBeGreaterThan(9);
    for (const { name, cells } of rows)
      expect([name, Number(cells[1]), Number(cells[2])]).toEqual([
        name,
        curves['a100-sxm']?.[kind].bf16[name],
        curves['h100-sxm']?.[kind].bf16[name],
      ]);
  });
});
