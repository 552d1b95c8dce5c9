/** Memory of one accelerator of each pipeline stage, by category, against what can be used. */
import type { BarSeriesOption, EChartsOption, MarkLineComponentOption } from 'echarts';
import type { MemoryCategory, StageMemory } from '#shared/schema/index.ts';
import { formatBytes, formatPercent, GIB } from '#shared/units.ts';
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

export interface MemoryData {
  stages: readonly StageMemory[];
  usableMemoryBytes: number;
  /** Share of it that has to stay free. */
  headroomFraction: number;
}

/** Bottom to top; names as shown. */
const categories: readonly (readonly [MemoryCategory, string])[] = [
  ['weights', 'Weights'],
  ['gradients', 'Gradients'],
  ['optimizer', 'Optimizer'],
  ['activations', 'Activations'],
  ['workspace', 'Workspace'],
];

function limitLines({ usableMemoryBytes, headroomFraction }: MemoryData, theme: ChartTheme): MarkLineComponentOption {
  const line = (bytes: number, text: string, look: { color: string; position: 'insideStartTop' | 'insideEndTop' }) => ({
    yAxis: bytes / GIB,
    lineStyle: { color: look.color, type: 'dashed' as const, width: 1.5 },
    label: { formatter: text, color: look.color, position: look.position, distance: 3 },
  });
  const usable = line(usableMemoryBytes, `usable ${formatBytes(usableMemoryBytes)}`, {
    color: theme.danger,
    position: 'insideStartTop',
  });
  const headroom = line(
    usableMemoryBytes * (1 - headroomFraction),
    `with ${formatPercent(headroomFraction)} headroom`,
    { color: theme.warn, position: 'insideEndTop' },
  );
  return { silent: true, symbol: 'none', animation: false, data: headroomFraction > 0 ? [usable, headroom] : [usable] };
}

/** The next even number of the size's own magnitude: 94 → 100, 8.1 → 10. */
function roundUp(size: number): number {
  const unit = 2 * 10 ** Math.floor(Math.log10(size));
  return Math.ceil(size / unit) * unit;
}

function tooltipFor(data: MemoryData, index: number): string {
  const stage = data.stages[index];
  if (stage === undefined) return '';
  return tooltipText(`Stage ${stage.stageIndex + 1} of ${data.stages.length}`, [
    ...categories.toReversed().map(([key, name]) => [name, formatBytes(stage[key])] as const),
    ['Total', `${formatBytes(stage.totalBytes)} of ${formatBytes(data.usableMemoryBytes)}`],
  ]);
}

function stageSeries(data: MemoryData, theme: ChartTheme): BarSeriesOption[] {
  const last = categories.length - 1;
  return categories.map(([key, name], index) => ({
    type: 'bar',
    name,
    stack: 'memory',
    barMaxWidth: 72,
    barCategoryGap: data.stages.length > 24 ? '18%' : '30%',
    itemStyle: { color: theme.categories[index] ?? theme.accent, borderRadius: index === last ? [3, 3, 0, 0] : 0 },
    emphasis: { focus: 'series' },
    data: data.stages.map((stage) => stage[key] / GIB),
    ...(index === last ? { markLine: limitLines(data, theme) } : {}),
  }));
}

export function memoryByStage(data: MemoryData, theme: ChartTheme): EChartsOption {
  const most = Math.max(data.usableMemoryBytes, ...data.stages.map((stage) => stage.totalBytes)) / GIB;
  return {
    ...baseOption(theme),
    grid: plotArea({ top: 36 }),
    legend: legendStyle(theme),
    tooltip: {
      ...tooltipStyle(theme),
      trigger: 'axis',
      axisPointer: { type: 'shadow', shadowStyle: { color: theme.sunken, opacity: 0.6 } },
      formatter: (params) => tooltipFor(data, (Array.isArray(params) ? params[0] : params)?.dataIndex ?? 0),
    },
    xAxis: {
      ...axisStyle(theme),
      type: 'category',
      data: data.stages.map((stage) => String(stage.stageIndex + 1)),
      name: 'Pipeline stage',
      nameLocation: 'middle',
      nameGap: 26,
    },
    yAxis: {
      ...axisStyle(theme),
      type: 'value',
      name: 'GiB per accelerator',
      nameLocation: 'middle',
      nameGap: 38,
      max: roundUp(most * 1.06),
    },
    series: stageSeries(data, theme),
  };
}

export function memoryTable({ stages }: MemoryData): ChartTable {
  const gib = (bytes: number) => Number((bytes / GIB).toFixed(3));
  return {
    columns: ['Stage', ...categories.map(([, name]) => `${name}, GiB`), 'Total, GiB'],
    rows: stages.map((stage) => [
      stage.stageIndex + 1,
      ...categories.map(([key]) => gib(stage[key])),
      gib(stage.totalBytes),
    ]),
  };
}
