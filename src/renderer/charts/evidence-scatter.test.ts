import { expect, test } from 'vitest';
import { testTheme } from '../test/fixtures.ts';
import { renderSvg } from './engine.ts';
import {
  errorBins,
  errorHistogram,
  evidenceScatter,
  evidenceTable,
  histogramTable,
  type EvidencePoint,
} from './evidence-scatter.ts';

const point = (id: string, kind: EvidencePoint['kind'], measuredSeconds: number, errorFraction: number) => ({
  id,
  label: `run ${id}`,
  kind,
  measuredSeconds,
  predictedSeconds: measuredSeconds * (1 + errorFraction),
  errorFraction,
});
const points = [point('a', 'dense', 2, 0.05), point('b', 'moe', 40, -0.2)];
interface Series {
  name: string;
  data: { name?: string; value?: number[]; symbolSize?: number }[];
}
const seriesOf = (of: readonly EvidencePoint[], selected: string | null = null) =>
  evidenceScatter(of, selected, testTheme).series as unknown as Series[];

test('measured goes right, predicted goes up, and the chosen run is larger', () => {
  const dense = seriesOf(points, 'a').find(({ name }) => name === 'Dense')!;
  expect(dense.data).toMatchObject([{ name: 'a', value: [2, 2.1], symbolSize: 16 }]);
});

test('the band lies 10 % either side of equality', () => {
  const [equal, above, below] = seriesOf(points).map(({ data }) => data as unknown as [number, number][]);
  expect(equal![0]![1] / equal![0]![0]).toBe(1);
  expect(above![0]![1] / above![0]![0]).toBeCloseTo(1.1, 12);
  expect(below![1]![1] / below![1]![0]).toBeCloseTo(0.9, 12);
});

test('errors are counted by 5 %, the ends hold what lies beyond', () => {
  const bins = errorBins([-0.9, -0.05, 0, 0.049, 0.05, 3].map((errorFraction) => ({ errorFraction })));
  const counts = Object.fromEntries(bins.map(({ label, count }) => [label, count]));
  expect(counts).toMatchObject({ 'below -35 %': 1, '-5 to 0 %': 1, '0 to 5 %': 2, '5 to 10 %': 1, '35 % and more': 1 });
  expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(6);
});

test('both can be drawn, also when empty, and are tables too', () => {
  for (const of of [points, []]) {
    renderSvg(evidenceScatter(of, null, testTheme), { width: 600, height: 400 });
    renderSvg(errorHistogram(errorBins(of), testTheme), { width: 600, height: 300 });
  }
  expect(evidenceTable(points).rows[1]).toEqual(['run b', 40, 32, -20]);
  expect(histogramTable(errorBins(points)).rows).toHaveLength(16);
});
