import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One row of a measured table, by column name. */
export type TableRow = Readonly<Record<string, string>>;

/** Rows of a comma-separated table whose first line names the columns; no quoting, as the tables have none. */
export function readTable(folder: string, name: string): TableRow[] {
  const [head = '', ...lines] = readFileSync(join(folder, name), 'utf8').trim().split(/\r?\n/);
  const columns = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? '']));
  });
}

export function hasTable(folder: string, name: string): boolean {
  return existsSync(join(folder, name));
}

/** A column as a number. Throws when it is absent or not a finite number. */
export function numberIn(row: TableRow, column: string): number {
  const value = Number(row[column] || Number.NaN);
  if (!Number.isFinite(value)) throw new Error(`column ${column}: expected a number, found ${String(row[column])}`);
  return value;
}

/** The measured time, seconds (the tables hold milliseconds). */
export function secondsIn(row: TableRow): number {
  return numberIn(row, 'latency_ms') / 1000;
}
