/** The parts of ECharts that the charts use; nothing else is bundled. */
import { BarChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from 'echarts/components';
import { init, use, type EChartsCoreOption } from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

use([
  ...[BarChart, HeatmapChart, LineChart, ScatterChart],
  ...[AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent],
  ...[CanvasRenderer, SVGRenderer],
]);

/** A chart drawn once as SVG text, for export. */
export function renderSvg(option: EChartsCoreOption, size: { width: number; height: number }): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  chart.setOption({ ...option, animation: false });
  const text = chart.renderToSVGString();
  chart.dispose();
  return text;
}
