/** The best MFU of each tensor × pipeline cell; what does not fit and what is not possible look different. */
import type { EChartsOption, HeatmapSeriesOption } from 'echarts';
import type { HeatCell } from '#shared/schema/index.ts';
import { formatBytes, formatNumber, formatPercent } from '#shared/units.ts';
import { axisStyle, baseOption, plotArea, tooltipStyle, tooltipText, type ChartTable } from './base-option.ts';
import { colorAt, readableOn, type ChartTheme } from './theme.ts';

export interface HeatData {
  cells: readonly HeatCell[];
  usableMemoryBytes: number | null;
  /** The cell that the page is filtered to. */
  selected: { tp: number; pp: number } | null;
}

export type CellState = 'fits' | 'too-large' | 'impossible';

export function cellState(cell: HeatCell | undefined): CellState {
  if (cell?.best) return 'fits';
  return cell === undefined || cell.leastMemoryBytes === null ? 'impossible' : 'too-large';
}

/** Degrees that occur in a cell with any valid plan: rows and columns of dashes would only take room. */
function degrees(cells: readonly HeatCell[], of: 'tp' | 'pp'): number[] {
  const possible = cells.filter((cell) => cellState(cell) !== 'impossible');
  return [...new Set((possible.length === 0 ? cells : possible).map((cell) => cell[of]))].sort((a, b) => a - b);
}

function mfuRange(cells: readonly HeatCell[]): readonly [number, number] {
  const values = cells.flatMap((cell) => (cell.best === null ? [] : [cell.best.mfu]));
  return values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
}

/** Colour and text of one cell. */
function look(cell: HeatCell | undefined, range: readonly [number, number], theme: ChartTheme) {
  const state = cellState(cell);
  if (state === 'fits' && cell?.best) {
    const [low, high] = range;
    const fill = colorAt(theme.sequence, high === low ? 0.8 : (cell.best.mfu - low) / (high - low));
    return { fill, text: formatNumber(cell.best.mfu * 100, 2), color: readableOn(fill), decal: undefined };
  }
  if (state === 'too-large')
    return {
      fill: theme.sunken,
      text: '>mem',
      color: theme.muted,
      decal: {
        symbol: 'rect',
        dashArrayX: [1, 0],
        dashArrayY: [1, 6],
        rotation: -Math.PI / 4,
        color: theme.border,
      },
    };
  return { fill: 'transparent', text: '–', color: theme.muted, decal: undefined };
}

function describe(cell: HeatCell | undefined, place: string, usable: number | null): string {
  const state = cellState(cell);
  if (cell === undefined || state === 'impossible')
    return tooltipText(place, [['Not possible', 'every plan here breaks a rule']]);
  if (state === 'fits' && cell.best)
    return tooltipText(place, [
      ['Best MFU', formatPercent(cell.best.mfu)],
      ['Its peak memory', formatBytes(cell.best.peakMemoryBytes)],
      ['Plans', formatNumber(cell.plans, 6)],
    ]);
  const limit = usable === null ? '' : ` of ${formatBytes(usable)}`;
  return tooltipText(place, [['Does not fit', `needs at least ${formatBytes(cell.leastMemoryBytes ?? 0)}${limit}`]]);
}

function heatItems(data: HeatData, theme: ChartTheme) {
  const [tps, pps] = [degrees(data.cells, 'tp'), degrees(data.cells, 'pp')];
  const at = new Map(data.cells.map((cell) => [`${cell.tp}/${cell.pp}`, cell]));
  const range = mfuRange(data.cells);
  return tps.flatMap((tp, x) =>
    pps.map((pp, y) => {
      const cell = at.get(`${tp}/${pp}`);
      const { fill, text, color, decal } = look(cell, range, theme);
      const isSelected = data.selected?.tp === tp && data.selected.pp === pp;
      return {
        name: `${tp}/${pp}`,
        value: [x, y, cell?.best?.mfu ?? 0],
        visualMap: false, // the colours are ours: two of the three kinds of cell have no value
        itemStyle: {
          color: fill,
          borderColor: isSelected ? theme.text : theme.surface,
          borderWidth: isSelected ? 3 : 2,
          borderRadius: 4,
          ...(decal === undefined ? {} : { decal }),
        },
        label: { show: true, formatter: text, color, fontWeight: isSelected ? ('bold' as const) : ('normal' as const) },
      };
    }),
  );
}

function heatSeries(data: HeatData, theme: ChartTheme): HeatmapSeriesOption {
  return { type: 'heatmap', data: heatItems(data, theme), emphasis: { itemStyle: { borderColor: theme.text } } };
}

export function tpPpHeatMap(data: HeatData, theme: ChartTheme): EChartsOption {
  const [tps, pps] = [degrees(data.cells, 'tp'), degrees(data.cells, 'pp')];
  const at = new Map(data.cells.map((cell) => [`${cell.tp}/${cell.pp}`, cell]));
  const axis = { ...axisStyle(theme), type: 'category' as const, splitLine: { show: false } };
  return {
    ...baseOption(theme),
    grid: plotArea({ top: 8 }),
    tooltip: {
      ...tooltipStyle(theme),
      trigger: 'item',
      formatter: (params) => {
        const { name } = Array.isArray(params) ? (params[0] ?? { name: '' }) : params;
        const [tp = '', pp = ''] = name.split('/');
        return describe(at.get(name), `TP ${tp} · PP ${pp}`, data.usableMemoryBytes);
      },
    },
    xAxis: { ...axis, data: tps.map(String), name: 'Tensor parallel, TP', nameLocation: 'middle', nameGap: 26 },
    yAxis: { ...axis, data: pps.map(String), name: 'Pipeline parallel, PP', nameLocation: 'middle', nameGap: 36 },
    // ECharts refuses a heat map without one
    visualMap: { show: false, min: 0, max: 1, dimension: 2, seriesIndex: 0 },
    series: [heatSeries(data, theme)],
  };
}

export function heatTable({ cells }: HeatData): ChartTable {
  const words = { fits: 'fits', 'too-large': 'does not fit', impossible: 'not possible' };
  return {
    columns: ['TP', 'PP', 'State', 'Best MFU, %', 'Least memory, GiB', 'Plans'],
    rows: cells.map((cell) => [
      cell.tp,
      cell.pp,
      words[cellState(cell)],
      cell.best === null ? null : Number((cell.best.mfu * 100).toFixed(2)),
      cell.leastMemoryBytes === null ? null : Number((cell.leastMemoryBytes / 2 ** 30).toFixed(3)),
      cell.plans,
    ]),
  };
}
