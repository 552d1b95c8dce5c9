/** Predicted against measured step time of recorded runs, and how their errors are spread. */
import type { EChartsOption } from 'echarts';
import { formatPercent, formatSeconds } from '#shared/units.ts';
import {
  axisStyle,
  baseOption,
  legendStyle,
  plotArea,
  tooltipStyle,
  tooltipText,
  type ChartTable,
} from './base-option.ts';
import type { ChartTheme } from './theme.ts';

export interface EvidencePoint {
  id: string;
  label: string;
  kind: 'dense' | 'moe';
  predictedSeconds: number;
  measuredSeconds: number;
  /** Predicted ÷ measured − 1. */
  errorFraction: number;
}

const kinds = [
  { kind: 'dense', name: 'Dense', symbol: 'circle' },
  { kind: 'moe', name: 'With experts', symbol: 'diamond' },
] as const;

/** The band that is drawn, either side of "predicted = measured". */
export const BAND_FRACTION = 0.1;

const signed = (fraction: number) => `${fraction >= 0 ? '+' : ''}${formatPercent(fraction)}`;

function describe(point: EvidencePoint): string {
  return tooltipText(point.label, [
    ['Measured', formatSeconds(point.measuredSeconds)],
    ['Predicted', formatSeconds(point.predictedSeconds)],
    ['Error', signed(point.errorFraction)],
  ]);
}

function rangeOf(points: readonly EvidencePoint[]): [number, number] {
  const all = points.flatMap(({ predictedSeconds, measuredSeconds }) => [predictedSeconds, measuredSeconds]);
  const least = all.reduce((a, b) => Math.min(a, b), Infinity);
  const most = all.reduce((a, b) => Math.max(a, b), 0);
  return all.length === 0 ? [0.1, 10] : [least / 1.2, most * 1.2];
}

function ray(name: string, factor: number, { range, theme }: { range: [number, number]; theme: ChartTheme }) {
  return {
    type: 'line' as const,
    name,
    silent: true,
    symbol: 'none',
    z: 1,
    lineStyle: { color: theme.muted, width: 1, type: factor === 1 ? ('solid' as const) : ('dashed' as const) },
    itemStyle: { color: theme.muted },
    data: range.map((seconds) => [seconds, seconds * factor]),
  };
}

function seriesByKind(points: readonly EvidencePoint[], selected: string | null, theme: ChartTheme) {
  return kinds.map(({ kind, name, symbol }, index) => ({
    type: 'scatter' as const,
    name,
    symbol,
    symbolSize: 8,
    itemStyle: { color: theme.categories[index] ?? theme.accent, opacity: 0.7 },
    data: points
      .filter((point) => point.kind === kind)
      .map((point) => ({
        name: point.id,
        value: [point.measuredSeconds, point.predictedSeconds],
        ...(point.id === selected
          ? { symbolSize: 16, itemStyle: { borderColor: theme.text, borderWidth: 2.5, opacity: 1 } }
          : {}),
      })),
  }));
}

export function evidenceScatter(points: readonly EvidencePoint[], selected: string | null, theme: ChartTheme) {
  const byId = new Map(points.map((point) => [point.id, point]));
  const range = rangeOf(points);
  const axis = (name: string) => ({
    ...axisStyle(theme),
    type: 'log' as const,
    name,
    nameLocation: 'middle' as const,
    nameGap: 28,
    min: range[0],
    max: range[1],
    axisLabel: { ...axisStyle(theme).axisLabel, formatter: (value: number) => formatSeconds(value) },
  });
  return {
    ...baseOption(theme),
    grid: plotArea({ top: 36, right: 20 }),
    legend: { ...legendStyle(theme), data: kinds.map(({ name }) => name) },
    tooltip: {
      ...tooltipStyle(theme),
      trigger: 'item',
      formatter: (item: unknown) => {
        const point = byId.get((item as { name: string }).name);
        return point === undefined ? '' : describe(point);
      },
    },
    xAxis: axis('Measured step time'),
    yAxis: { ...axis('Predicted step time'), nameGap: 52 },
    series: [
      ray('Predicted = measured', 1, { range, theme }),
      ray('+10 %', 1 + BAND_FRACTION, { range, theme }),
      ray('−10 %', 1 - BAND_FRACTION, { range, theme }),
      ...seriesByKind(points, selected, theme),
    ],
  } satisfies EChartsOption;
}

export function evidenceTable(points: readonly EvidencePoint[]): ChartTable {
  return {
    columns: ['Run', 'Measured, s', 'Predicted, s', 'Error, %'],
    rows: points.map(({ label, measuredSeconds, predictedSeconds, errorFraction }) => [
      label,
      Number(measuredSeconds.toPrecision(5)),
      Number(predictedSeconds.toPrecision(5)),
      Number((errorFraction * 100).toFixed(2)),
    ]),
  };
}

const BIN = 0.05;
const NUM_BINS = 16;
const LEAST = (-NUM_BINS / 2) * BIN;

export interface ErrorBin {
  label: string;
  count: number;
}

/** Runs per 5 % of error; the first and last bin hold everything beyond. */
export function errorBins(points: readonly Pick<EvidencePoint, 'errorFraction'>[]): ErrorBin[] {
  const counts = new Array<number>(NUM_BINS).fill(0);
  for (const { errorFraction } of points) {
    const place = Math.floor((errorFraction - LEAST) / BIN + 1e-9); // a bin's lower edge belongs to it
    const index = Math.max(0, Math.min(NUM_BINS - 1, place));
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts.map((count, index) => {
    const from = Math.round((LEAST + index * BIN) * 100);
    if (index === 0) return { label: `below ${from + 5} %`, count };
    return { label: index === NUM_BINS - 1 ? `${from} % and more` : `${from} to ${from + 5} %`, count };
  });
}

export function errorHistogram(bins: readonly ErrorBin[], theme: ChartTheme) {
  return {
    ...baseOption(theme),
    grid: plotArea({ top: 16 }),
    tooltip: { ...tooltipStyle(theme), trigger: 'axis' },
    xAxis: { ...axisStyle(theme), type: 'category', data: bins.map(({ label }) => label) },
    yAxis: { ...axisStyle(theme), type: 'value', minInterval: 1 },
    series: [
      {
        type: 'bar',
        name: 'Runs',
        data: bins.map(({ count }) => count),
        color: theme.categories[0] ?? theme.accent,
      },
    ],
  } satisfies EChartsOption;
}
export const histogramTable = (bins: readonly ErrorBin[]): ChartTable => ({
  columns: ['Error', 'Runs'],
  rows: bins.map(({ label, count }) => [label, count]),
});
