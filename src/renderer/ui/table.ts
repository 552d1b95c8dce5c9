/** One column of a `DataTable`. */
export interface Column<Row> {
  key: string;
  label: string;
  /** Explains the heading. */
  tip?: string;
  unit?: string;
  align?: 'start' | 'end';
  /** Long text that may take more than one line. */
  wraps?: boolean;
  /** What to sort by; nulls go last. Absent: the column does not sort. */
  value?: (row: Row) => number | string | null;
  /** More is better: the first click brings the largest to the top. */
  isDescendingFirst?: boolean;
  text: (row: Row) => string;
}

export interface Sort {
  key: string;
  descending: boolean;
}

/** The rows in the order of a sort; equal ones keep their order. */
export function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const value = columns.find((column) => column.key === sort?.key)?.value;
  if (value === undefined || sort === null) return rows;
  const sign = sort.descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
  });
}
