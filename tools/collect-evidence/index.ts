/**
 * The record of measured runs that ships: every row of the given runs files, once per id, without empty fields, sorted by
 * source and id, one row a line. Rows that cannot be predicted, are flagged or of low quality stay in: readers decide.
 *
 *   node tools/collect-evidence/index.ts runs/training.json [more.json …] > resources/evidence/runs.json
 */
import { readFileSync } from 'node:fs';

type Value = null | boolean | number | string | Value[] | { [key: string]: Value };

/** Without null and empty lists: null and absent both mean unknown. */
function compact(value: Value): Value | undefined {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.flatMap((item) => compact(item) ?? []);
  if (typeof value !== 'object') return value;
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const kept = compact(item);
    return kept === undefined || (Array.isArray(kept) && kept.length === 0) ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(entries);
}

interface Row {
  [key: string]: Value;
  id: string;
}

function rowsOf(file: string): Row[] {
  const rows = JSON.parse(readFileSync(file, 'utf8')) as Row[];
  if (!Array.isArray(rows)) throw new Error(`${file} is no list of runs`);
  return rows;
}

const sourceOf = (row: Row): string => (row.source as { title?: string } | null)?.title ?? '';

const byId = new Map<string, Row>();
for (const row of process.argv.slice(2).flatMap(rowsOf)) {
  const known = byId.get(row.id);
  // a row that stands in two files is the same measurement: the second may add what was measured besides
  const measured = { ...(row.measured as object), ...(known?.measured as object | undefined) };
  // how the collection was checked is no part of the measurement
  const kept = Object.fromEntries(Object.entries({ ...row, ...known, measured }).filter(([key]) => key !== 'checks'));
  byId.set(row.id, kept as Row);
}
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const rows = [...byId.values()].sort((a, b) => order(sourceOf(a), sourceOf(b)) || order(a.id, b.id));
const lines = rows.map((row) => JSON.stringify(compact(row)));
process.stdout.write(`{"format":"trainyard/evidence","version":1,"rows":[\n${lines.join(',\n')}\n]}\n`);
