/** Throughput against peak memory of the plans a search found: what is faster costs memory, up to the limit. */
import type { EChartsOption } from 'echarts';
import { formatBytes, formatNumber, formatPercent, GIB } from '#shared/units.ts';
import {
  axisStyle,
  baseOption,
  legendStyle,
  plotArea,
  tooltipStyle,
  tooltipText,
  type ChartTable,
} from './base-option.ts';
import { colorAt, type ChartTheme } from './theme.ts';

export interface ScatterPoint {
  key: string;
  /** The plan in words. */
  label: string;
  pp: number;
  peakMemoryBytes: number;
  tokensPerSecondPerAccelerator: number;
  mfu: number;
}

export interface ScatterData {
  points: readonly ScatterPoint[];
  /** All pipeline degrees of the search, so that filters don't change what a colour means. */
  degrees: readonly number[];
  /** Plans that nothing beats in both; joined by a line. */
  frontier: readonly ScatterPoint[];
  /** The scenario's own plan, drawn apart. */
  reference: (ScatterPoint & { name: string }) | null;
  usableMemoryBytes: number | null;
  selectedKey: string | null;
  measure: 'throughput' | 'mfu';
}

/** Shapes repeat the order of the colours, for those who can't tell these apart. */
const symbols = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin'] as const;
const star = 'path://M12 1.6l3.2 6.6 7.2 1-5.2 5.1 1.2 7.2L12 18.1l-6.4 3.4 1.2-7.2L1.6 9.2l7.2-1z';

const valueOf = (point: ScatterPoint, measure: ScatterData['measure']) =>
  measure === 'mfu' ? point.mfu * 100 : point.tokensPerSecondPerAccelerator;

function item(point: ScatterPoint, measure: ScatterData['measure']) {
  return { name: point.key, value: [point.peakMemoryBytes / GIB, valueOf(point, measure)] };
}

function describe(point: ScatterPoint, name = ''): string {
  return tooltipText(name === '' ? point.label : `${name}: ${point.label}`, [
    ['Throughput', `${formatNumber(point.tokensPerSecondPerAccelerator)} tokens/s per accelerator`],
    ['MFU', formatPercent(point.mfu)],
    ['Peak memory', formatBytes(point.peakMemoryBytes)],
  ]);
}

function seriesByPp({ points, degrees, measure, selectedKey }: ScatterData, theme: ChartTheme) {
  return degrees.map((pp, index) => ({
    type: 'scatter' as const,
    name: `PP ${pp}`,
    symbol: symbols[index % symbols.length] ?? 'circle',
    symbolSize: 10,
    itemStyle: {
      color: colorAt(theme.order, degrees.length === 1 ? 0.4 : index / (degrees.length - 1)),
      borderColor: theme.surface,
      borderWidth: 1,
      opacity: 0.92,
    },
    emphasis: { scale: 1.4 },
    data: points
      .filter((point) => point.pp === pp)
      .map((point) => ({
        ...item(point, measure),
        ...(point.key === selectedKey
          ? { symbolSize: 17, itemStyle: { borderColor: theme.text, borderWidth: 2.5, opacity: 1 } }
          : {}),
      })),
  }));
}

function frontierLine({ frontier, measure }: ScatterData, theme: ChartTheme) {
  const line = [...frontier].sort((a, b) => a.peakMemoryBytes - b.peakMemoryBytes);
  return {
    type: 'line' as const,
    name: 'Frontier',
    step: 'end' as const, // between two plans, the smaller one is still what one gets
    symbol: 'none',
    silent: true,
    z: 1,
    lineStyle: { color: theme.muted, width: 1.5, type: 'solid' as const, opacity: 0.7 },
    itemStyle: { color: theme.muted },
    data: line.map((point) => item(point, measure)),
  };
}

function referenceMark({ reference, measure, selectedKey }: ScatterData, theme: ChartTheme) {
  if (reference === null) return [];
  return [
    {
      type: 'scatter' as const,
      name: reference.name,
      symbol: star,
      symbolSize: reference.key === selectedKey ? 24 : 19,
      z: 5,
      itemStyle: { color: theme.danger, borderColor: theme.surface, borderWidth: 1.5 },
      data: [item(reference, measure)],
    },
  ];
}

function limitLine(bytes: number | null, theme: ChartTheme) {
  if (bytes === null) return [];
  return [
    {
      type: 'line' as const,
      name: 'Memory limit',
      silent: true,
      data: [],
      symbol: 'none',
      itemStyle: { color: theme.danger },
      lineStyle: { color: theme.danger, type: 'dashed' as const },
      markLine: {
        silent: true,
        symbol: 'none',
        lineStyle: { color: theme.danger, type: 'dashed' as const, width: 1.5 },
        label: { formatter: `limit ${formatBytes(bytes)}`, color: theme.danger, position: 'insideEndTop' as const },
        data: [{ xAxis: bytes / GIB }],
      },
    },
  ];
}

/** Ticks of the memory axis, and what lies between two. */
const MOST_TICKS = 8;
const TICK_STEPS = [1, 2, 5, 10];

/** The axis takes in the limit only where the plans come near it: else they would be one clot at the edge. */
function memoryExtent({ points, reference, usableMemoryBytes }: ScatterData) {
  const sizes = [...points, ...(reference === null ? [] : [reference])].map((point) => point.peakMemoryBytes / GIB);
  const limit = usableMemoryBytes === null ? 0 : usableMemoryBytes / GIB;
  const most = Math.max(...sizes, limit);
  const least = Math.min(...sizes, most);
  const range = Math.max(1, most - least);
  // ends and ticks fall on the same round numbers: 1, 2 or 5 times a power of ten
  const magnitude = 10 ** Math.floor(Math.log10(range / MOST_TICKS));
  const interval = magnitude * (TICK_STEPS.find((step) => range / (step * magnitude) <= MOST_TICKS) ?? 10);
  return {
    min: Math.max(0, Math.floor((least - range * 0.05) / interval) * interval),
    max: Math.ceil((most + range * 0.05) / interval) * interval,
    interval,
  };
}

/** Lines are labelled where they are; the legend is for what the points mean. */
function legendNames({ points, degrees, reference }: ScatterData): string[] {
  const shown = degrees.filter((pp) => points.some((point) => point.pp === pp));
  return [...shown.map((pp) => `PP ${pp}`), ...(reference === null ? [] : [reference.name])];
}

export function frontierScatter(data: ScatterData, theme: ChartTheme): EChartsOption {
  const all = new Map(data.points.map((point) => [point.key, point]));
  return {
    ...baseOption(theme),
    grid: plotArea({ top: 40, right: 16 }),
    legend: { ...legendStyle(theme), data: legendNames(data) },
    tooltip: {
      ...tooltipStyle(theme),
      trigger: 'item',
      formatter: (params) => {
        const one = Array.isArray(params) ? params[0] : params;
        const key = one?.name ?? '';
        if (data.reference?.key === key && one?.seriesName === data.reference.name)
          return describe(data.reference, data.reference.name);
        const point = all.get(key);
        return point === undefined ? '' : describe(point);
      },
    },
    xAxis: {
      ...axisStyle(theme),
      type: 'value',
      name: 'Peak memory per accelerator, GiB',
      nameLocation: 'middle',
      nameGap: 28,
      ...memoryExtent(data),
    },
    yAxis: {
      ...axisStyle(theme),
      type: 'value',
      name: data.measure === 'mfu' ? 'MFU, %' : 'Tokens/s per accelerator',
      nameLocation: 'middle',
      nameGap: 38,
      scale: true,
    },
    series: [
      ...seriesByPp(data, theme),
      frontierLine(data, theme),
      ...referenceMark(data, theme),
      ...limitLine(data.usableMemoryBytes, theme),
    ],
  };
}

export function scatterTable({ points, reference }: ScatterData): ChartTable {
  const row = (point: ScatterPoint, name: string) => [
    name === '' ? point.label : `${name}: ${point.label}`,
    point.pp,
    Number((point.peakMemoryBytes / GIB).toFixed(3)),
    Number(point.tokensPerSecondPerAccelerator.toFixed(3)),
    Number((point.mfu * 100).toFixed(2)),
  ];
  return {
    columns: ['Plan', 'PP', 'Peak memory, GiB', 'Tokens/s per accelerator', 'MFU, %'],
    rows: [...points.map((point) => row(point, '')), ...(reference === null ? [] : [row(reference, reference.name)])],
  };
}
