/** Aligned columns for people. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => string;
  /** Numbers stand right, words left. */
  align?: 'left' | 'right';
  /** Columns of higher rank are left out first where the terminal is narrow; 0 never is. */
  rank?: number;
  /** Words that may be cut to the room there is, before any column is left out. */
  flex?: boolean;
}

const GAP = '  ';

/** Length as shown: combining marks take no room. */
export function widthOf(text: string): number {
  return Array.from(text.replaceAll(/\p{M}/gu, '')).length;
}

/** `text` cut to `width` characters, the last one an ellipsis where something is missing. */
export function clip(text: string, width: number): string {
  const letters = Array.from(text);
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? space + text : text + space;
}

const LEAST_FLEX = 16;

type Sized<Row> = Column<Row> & { cells: string[]; size: number };

const totalOf = (columns: readonly { size: number }[]) =>
  columns.reduce((sum, { size }) => sum + size + GAP.length, -GAP.length);

/** The columns that fit `width`: flexible ones are cut first, then columns are left out, then the widest is cut. */
function fit<Row>(columns: readonly Sized<Row>[], width: number): Sized<Row>[] {
  let shown = columns.map((column) => ({ ...column }));
  for (;;) {
    for (const column of shown.filter(({ flex }) => flex === true))
      column.size = Math.max(Math.min(column.size, LEAST_FLEX), column.size - Math.max(0, totalOf(shown) - width));
    const highest = Math.max(0, ...shown.map(({ rank = 0 }) => rank));
    if (totalOf(shown) <= width || highest === 0) break;
    const last = shown.findLast(({ rank = 0 }) => rank === highest);
    shown = shown.filter((column) => column !== last);
  }
  const [first, ...others] = shown;
  if (first === undefined) return [];
  const widest = others.reduce((most, column) => (column.size > most.size ? column : most), first);
  const excess = totalOf(shown) - width;
  if (excess > 0) widest.size = Math.max(Math.min(widest.size, LEAST_FLEX), widest.size - excess);
  return shown;
}

/** The rows under their titles, at most `width` characters wide where that can be had. */
export function formatTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): string {
  const sized = columns.map((column) => {
    const cells = rows.map(column.cell);
    return { ...column, cells, size: Math.max(widthOf(column.title), ...cells.map(widthOf)) };
  });
  const shown = fit(sized, width);
  const line = (texts: readonly string[]) =>
    shown
      .map(({ size, align = 'right' }, index) => pad(clip(texts[index] ?? '', size), size, align))
      .join(GAP)
      .trimEnd();
  const lines = [line(shown.map(({ title }) => title)), line(shown.map(({ size }) => '─'.repeat(size)))];
  rows.forEach((_row, index) => lines.push(line(shown.map(({ cells }) => cells[index] ?? ''))));
  return `${lines.join('\n')}\n`;
}
