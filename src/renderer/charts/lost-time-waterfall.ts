/** From the ideal step (model FLOPs at the dense peak) to the real one: each bar is time that something costs. */
import type { BarSeriesOption, EChartsOption } from 'echarts';
import type { WaterfallStep } from '#shared/schema/index.ts';
import { formatNumber, formatPercent, formatSeconds } from '#shared/units.ts';
import { axisStyle, baseOption, plotArea, tooltipStyle, tooltipText, type ChartTable } from './base-option.ts';
import type { ChartTheme } from './theme.ts';

interface Bar {
  label: string;
  /** Where the bar begins, seconds. */
  start: number;
  seconds: number;
  kind: 'ideal' | 'loss' | 'total';
  why: string;
}

/** The steps with their places, and the step time as the last bar. A negative loss (a gain) runs backwards. */
export function waterfallBars(steps: readonly WaterfallStep[]): Bar[] {
  const bars: Bar[] = [];
  let time = 0;
  for (const step of steps) {
    const end = time + step.seconds;
    bars.push({ ...step, start: Math.min(time, end), seconds: step.seconds });
    time = end;
  }
  bars.push({ label: 'Step time', start: 0, seconds: time, kind: 'total', why: 'All of the above.' });
  return bars;
}

/** The longest word that fits a label; ECharts breaks the line at spaces. */
const LABEL_WIDTH = 150;
/** Room right of the longest bar for its value. */
const VALUE_WIDTH = 172;
const WHY_WIDTH = 58;
/** Below this width of the chart, pixels, the labels are short. */
const NARROW = 460;
const NARROW_LABEL_WIDTH = 104;
const NARROW_VALUE_WIDTH = 72;

function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    const line = lines[last] ?? '';
    if (line.length + word.length + 1 > WHY_WIDTH) lines.push(word);
    else lines[last] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

/** One decimal is as fine as a share gets interesting. */
function shareText(share: number): string {
  if (share !== 0 && Math.abs(share) < 0.001) return '< 0.1 %';
  return formatPercent(Math.round(share * 1000) / 1000);
}

function shortText(bar: Bar | undefined): string {
  if (bar === undefined) return '';
  return `${bar.kind === 'loss' && bar.seconds >= 0 ? '+' : ''}${formatSeconds(bar.seconds)}`;
}

/** Points of MFU that a loss costs, or a gain brings. */
function pointsText(share: number): string {
  const size = Math.abs(share) * 100;
  const sign = share < 0 ? '+' : '−';
  return `${size > 0 && size < 0.1 ? '< 0.1' : sign + formatNumber(Math.round(size * 10) / 10)} points`;
}

function valueText(bar: Bar, total: number): string {
  const share = total > 0 ? bar.seconds / total : 0;
  const seconds = formatSeconds(bar.seconds);
  if (bar.kind === 'loss') return `${bar.seconds >= 0 ? '+' : ''}${seconds}  ·  ${pointsText(share)}`;
  return bar.kind === 'ideal' ? `${seconds}  ·  ${shareText(share)} MFU` : seconds;
}

const labelText = (bar: Bar | undefined, total: number): string => (bar === undefined ? '' : valueText(bar, total));

/** Pixels that the chart wants: one row per bar. */
export function waterfallHeight(steps: readonly WaterfallStep[]): number {
  return 40 + 34 * (steps.length + 1);
}

function barSeries(bars: readonly Bar[], total: number, theme: ChartTheme): BarSeriesOption[] {
  const fills = { ideal: theme.categories[2], loss: theme.categories[5], total: theme.categories[0] };
  const offset: BarSeriesOption = {
    type: 'bar',
    stack: 'time',
    silent: true,
    itemStyle: { color: 'transparent' },
    data: bars.map((bar) => bar.start),
  };
  const shown: BarSeriesOption = {
    type: 'bar',
    stack: 'time',
    barMaxWidth: 20,
    label: {
      show: true,
      position: 'right',
      color: theme.text,
      distance: 8,
      formatter: ({ dataIndex }) => labelText(bars[dataIndex], total),
    },
    data: bars.map((bar) => ({
      value: Math.abs(bar.seconds),
      itemStyle: { color: bar.seconds < 0 ? theme.ok : (fills[bar.kind] ?? theme.accent), borderRadius: 3 },
      label: { fontWeight: bar.kind === 'loss' ? 'normal' : 'bold' },
    })),
  };
  return [offset, shown];
}

export function lostTimeWaterfall(steps: readonly WaterfallStep[], theme: ChartTheme): EChartsOption {
  const bars = waterfallBars(steps);
  const total = bars.at(-1)?.seconds ?? 0;
  return {
    ...baseOption(theme),
    grid: plotArea({ top: 4, right: VALUE_WIDTH }),
    tooltip: {
      ...tooltipStyle(theme),
      trigger: 'axis',
      axisPointer: { type: 'shadow', shadowStyle: { color: theme.sunken, opacity: 0.6 } },
      formatter: (params) => {
        const index = (Array.isArray(params) ? params[0] : params)?.dataIndex ?? 0;
        const bar = bars[index];
        if (bar === undefined) return '';
        return `${tooltipText(bar.label, [['Time', valueText(bar, total)]])}\n${wrapped(bar.why)}`;
      },
    },
    xAxis: {
      ...axisStyle(theme),
      type: 'value',
      max: total, // the step time is the whole width
      splitNumber: 4,
      axisLabel: { show: false }, // each bar carries its own value
    },
    yAxis: {
      ...axisStyle(theme),
      type: 'category',
      inverse: true,
      data: bars.map((bar) => bar.label),
      axisLine: { show: false },
      axisLabel: { color: theme.text, width: LABEL_WIDTH, overflow: 'break', interval: 0, lineHeight: 14 },
    },
    series: barSeries(bars, total, theme),
    // on a phone the bars need the room: the share of each is in its tooltip and in the table
    media: [
      {
        query: { maxWidth: NARROW },
        option: {
          grid: plotArea({ top: 4, right: NARROW_VALUE_WIDTH }),
          yAxis: { axisLabel: { width: NARROW_LABEL_WIDTH } },
          series: [{}, { label: { formatter: ({ dataIndex }: { dataIndex: number }) => shortText(bars[dataIndex]) } }],
        },
      },
    ],
  };
}

export function waterfallTable(steps: readonly WaterfallStep[]): ChartTable {
  const bars = waterfallBars(steps);
  const total = bars.at(-1)?.seconds ?? 0;
  return {
    columns: ['Part', 'Seconds', 'Points of MFU', 'Why'],
    rows: bars.map((bar) => [
      bar.label,
      bar.seconds,
      total > 0 ? Number(formatNumber((bar.seconds / total) * 100, 4).replaceAll(',', '')) : null,
      bar.why,
    ]),
  };
}
