import type { EChartsOption } from 'echarts';
import { describe, expect, test } from 'vitest';
import { GIB } from '#shared/units.ts';
import { makeCell, makeSummary, testTheme } from '../test/fixtures.ts';
import { baseOption, tableToCsv, tooltipStyle } from './base-option.ts';
import { renderSvg } from './engine.ts';
import { frontierScatter, scatterTable, type ScatterData } from './frontier-scatter.ts';
import { lostTimeWaterfall, waterfallBars, waterfallTable } from './lost-time-waterfall.ts';
import { memoryByStage, memoryTable } from './memory-by-stage.ts';
import { cellState, heatTable, tpPpHeatMap } from './tp-pp-heat-map.ts';
import { colorAt, parseColor, readableOn } from './theme.ts';

interface Series {
  name?: string;
  type: string;
  data: { name?: string; value: number[]; symbolSize?: number; itemStyle?: { color?: string; decal?: object } }[];
  markLine?: { data: { xAxis?: number; yAxis?: number }[] };
}
const seriesOf = (option: EChartsOption) => option.series as unknown as Series[];
/** ECharts takes it: an option that it can't draw throws here. */
const draw = (option: EChartsOption) => renderSvg(option, { width: 600, height: 400 });

describe('colours', () => {
  test('are read in both forms', () => {
    expect(parseColor('#0d4080')).toEqual([13, 64, 128]);
    expect(parseColor('rgb(1, 2, 3)')).toEqual([1, 2, 3]);
  });
  test('mix along a ramp and stay inside of it', () => {
    const ramp = ['#000000', '#646464', '#ffffff'];
    expect(colorAt(ramp, 0.25)).toBe('rgb(50, 50, 50)');
    expect(colorAt(ramp, -1)).toBe('rgb(0, 0, 0)');
    expect(colorAt(ramp, 2)).toBe('rgb(255, 255, 255)');
  });
  test('carry readable text', () => {
    expect(readableOn('#ffffff')).toBe('#101216');
    expect(readableOn('#0d4080')).toBe('#ffffff');
  });
});

test('no chart writes HTML: the page’s policy forbids inline styles', () => {
  expect(tooltipStyle(testTheme).renderMode).toBe('richText');
});
test('motion follows the reader’s wish', () => {
  expect(baseOption({ ...testTheme, isAnimated: false }).animation).toBe(false);
});
test('CSV quotes what needs it and defuses formulas', () => {
  const csv = tableToCsv({
    columns: ['a', 'b, c'],
    rows: [
      ['=1+1', 'say "x"'],
      [null, -2],
    ],
  });
  expect(csv).toBe('a,"b, c"\r\n\'=1+1,"say ""x"""\r\n,-2\r\n');
});

describe('frontier scatter', () => {
  const point = (key: string, pp: number, gib: number) => ({
    ...makeSummary(key),
    label: `plan ${key}`,
    pp,
    peakMemoryBytes: gib * GIB,
  });
  const data: ScatterData = {
    points: [point('a', 1, 70), point('b', 4, 40), point('c', 4, 50)],
    degrees: [1, 2, 4],
    frontier: [point('a', 1, 70), point('b', 4, 40)],
    reference: { ...point('r', 8, 60), name: 'Published split' },
    usableMemoryBytes: 79 * GIB,
    selectedKey: 'c',
    measure: 'mfu',
  };
  const option = frontierScatter(data, testTheme);
  const named = (name: string) => seriesOf(option).find((series) => series.name === name);

  test('has one series per pipeline degree, whose colour does not depend on the filter', () => {
    expect(named('PP 4')?.data.map((item) => item.name)).toEqual(['b', 'c']);
    const colour = (series: unknown) => (series as { itemStyle: { color: string } }).itemStyle.color;
    const filtered = frontierScatter({ ...data, points: data.points.slice(1) }, testTheme);
    expect(colour(seriesOf(filtered).find(({ name }) => name === 'PP 4'))).toBe(colour(named('PP 4')));
  });
  test('places plans by GiB and percent, and marks the selected one', () => {
    expect(named('PP 1')?.data[0]?.value).toEqual([70, 46]);
    expect(named('PP 4')?.data.map((item) => item.symbolSize)).toEqual([undefined, 17]);
  });
  test('draws the frontier from small to large, the limit, and the scenario’s own plan apart', () => {
    expect(named('Frontier')?.data.map((item) => item.value[0])).toEqual([40, 70]);
    expect(named('Memory limit')?.markLine?.data).toEqual([{ xAxis: 79 }]);
    expect(named('Published split')?.data[0]?.name).toBe('r');
  });
  test('can be drawn, also when empty', () => {
    expect(draw(option)).toContain('Peak memory per accelerator');
    draw(frontierScatter({ ...data, points: [], frontier: [], reference: null, usableMemoryBytes: null }, testTheme));
  });
  test('is a table too', () => {
    expect(scatterTable(data).rows).toHaveLength(4);
    expect(scatterTable(data).rows[0]).toEqual(['plan a', 1, 70, 400, 46]);
  });
});

describe('tp × pp heat map', () => {
  const best = makeSummary('x', { mfu: 0.5 });
  const worse = makeSummary('y', { mfu: 0.3 });
  const cells = [
    makeCell(1, 1, { leastMemoryBytes: 90 * GIB, plans: 3 }),
    makeCell(2, 1, { best, leastMemoryBytes: 60 * GIB, plans: 9 }),
    makeCell(1, 3),
    makeCell(2, 3),
    makeCell(1, 2),
    makeCell(2, 2, { best: worse, leastMemoryBytes: 50 * GIB, plans: 9 }),
  ];
  const option = tpPpHeatMap({ cells, usableMemoryBytes: 79 * GIB, selected: { tp: 2, pp: 1 } }, testTheme);
  const items = seriesOf(option)[0]?.data ?? [];
  const item = (name: string) => items.find((one) => one.name === name);

  test('tells the three states apart', () => {
    expect(cells.map(cellState)).toEqual(['too-large', 'fits', 'impossible', 'impossible', 'impossible', 'fits']);
    expect(item('1/1')?.itemStyle?.decal).toBeDefined();
    expect(item('1/2')?.itemStyle?.color).toBe('transparent');
    expect(item('2/1')?.itemStyle?.color).toBe(colorAt(testTheme.sequence, 1));
    expect(item('2/2')?.itemStyle?.color).toBe(colorAt(testTheme.sequence, 0));
  });
  test('leaves out degrees with which nothing is possible', () => {
    expect(items.some((one) => one.name?.endsWith('/3'))).toBe(false);
    expect(heatTable({ cells, usableMemoryBytes: null, selected: null }).rows).toHaveLength(6);
  });
  test('can be drawn, also where nothing is possible', () => {
    expect(draw(option)).toContain('Tensor parallel, TP');
    draw(tpPpHeatMap({ cells: [makeCell(1, 1)], usableMemoryBytes: null, selected: null }, testTheme));
  });
});

describe('lost-time waterfall', () => {
  const steps = [
    { label: 'Ideal', seconds: 4, kind: 'ideal', why: 'Model FLOPs at peak.' },
    { label: 'Kernels', seconds: 3, kind: 'loss', why: 'They reach less.' },
    { label: 'Overlap', seconds: -1, kind: 'loss', why: 'A gain.' },
  ] as const;
  test('bars stand where the last one ended, and the last is the whole', () => {
    const bars = waterfallBars(steps);
    expect(bars.map(({ start, seconds }) => [start, seconds])).toEqual([
      [0, 4],
      [4, 3],
      [6, -1],
      [0, 6],
    ]);
  });
  test('can be drawn and read', () => {
    const svg = draw(lostTimeWaterfall(steps, testTheme));
    expect(svg).toContain('+3 s');
    expect(svg).toContain('66.7 %');
    expect(waterfallTable(steps).rows.at(-1)).toEqual(['Step time', 6, 100, 'All of the above.']);
  });
});

describe('memory by stage', () => {
  const stage = (stageIndex: number) => ({
    ...{ stageIndex, weights: 4 * GIB, gradients: 8 * GIB, optimizer: 12 * GIB, activations: 30 * GIB },
    ...{ workspace: 2 * GIB, totalBytes: 56 * GIB },
  });
  test.each([1, 64])('draws %i stages against the limit and the headroom', (count) => {
    const stages = Array.from({ length: count }, (_, index) => stage(index));
    const data = { stages, usableMemoryBytes: 80 * GIB, headroomFraction: 0.1 };
    const option = memoryByStage(data, testTheme);
    expect(seriesOf(option).map(({ name }) => name)).toEqual([
      ...['Weights', 'Gradients', 'Optimizer', 'Activations', 'Workspace'],
    ]);
    expect(
      seriesOf(option)
        .at(-1)
        ?.markLine?.data.map(({ yAxis }) => yAxis),
    ).toEqual([80, 72]);
    expect(draw(option)).toContain('usable 80 GiB');
    expect(memoryTable(data).rows).toHaveLength(count);
    expect(memoryTable(data).rows[0]).toEqual([1, 4, 8, 12, 30, 2, 56]);
  });
});
