/** What all charts share: type, tooltip, motion, spacing, and a table of the same data. */
import type { EChartsOption, TooltipComponentOption } from 'echarts';
import type { ChartTheme } from './theme.ts';

/** The numbers of a chart as a table: for export, and for those who read rather than look. */
export interface ChartTable {
  columns: readonly string[];
  rows: readonly (readonly (string | number | null)[])[];
}

export function baseOption(theme: ChartTheme) {
  return {
    textStyle: { fontFamily: theme.font, color: theme.text, fontSize: 12 },
    animation: theme.isAnimated,
    animationDuration: 240,
    animationDurationUpdate: 200,
    animationEasing: 'cubicOut',
    backgroundColor: 'transparent',
    aria: { enabled: true },
  } satisfies EChartsOption;
}

/** Room round the plot; labels and names of the axes are inside of it. */
export function plotArea(place: { left?: number; right?: number; top: number; bottom?: number }) {
  return { left: 4, right: 8, bottom: 4, ...place, outerBoundsMode: 'same', outerBoundsContain: 'all' } as const;
}

export function tooltipStyle(theme: ChartTheme) {
  return {
    renderMode: 'richText', // an HTML tooltip would need inline styles, which the page's policy forbids
    confine: true,
    backgroundColor: theme.surface,
    borderColor: theme.border,
    borderWidth: 1,
    padding: [10, 12],
    transitionDuration: 0,
    textStyle: { color: theme.text, fontFamily: theme.font, fontSize: 12, lineHeight: 18 },
  } satisfies TooltipComponentOption;
}

export function axisStyle(theme: ChartTheme) {
  return {
    axisLine: { lineStyle: { color: theme.border } },
    axisTick: { show: false },
    axisLabel: { color: theme.muted, fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: theme.grid } },
    nameTextStyle: { color: theme.muted, fontSize: 12 },
  } as const;
}

export function legendStyle(theme: ChartTheme) {
  return {
    type: 'scroll',
    top: 0,
    left: 0,
    itemWidth: 12,
    itemHeight: 10,
    itemGap: 14,
    textStyle: { color: theme.text, fontSize: 12 },
    pageTextStyle: { color: theme.muted },
    pageIconColor: theme.muted,
    pageIconInactiveColor: theme.border,
  } as const;
}

/** Rich-text tooltip: a bold first line, then `name  value` lines. */
export function tooltipText(title: string, lines: readonly (readonly [string, string])[]): string {
  return [title, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\n');
}

/** CSV with a heading line; a cell that a spreadsheet could take for a formula is made plain text. */
export function tableToCsv({ columns, rows }: ChartTable): string {
  const cell = (value: string | number | null) => {
    if (value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}
