import { formatCount, formatMoney } from '#shared/units.ts';
import type { Planner } from '../services/planner.ts';
import { withPlanner, type ExitCode } from './common.ts';
import { printJson, type Terminal } from './terminal.ts';
import { formatTable, type Column } from './text/table.ts';

type Catalog = Planner['catalog'];

const models: readonly Column<Catalog['models'][number]>[] = [
  { title: 'model', cell: ({ id }) => id, align: 'left' },
  {
    title: 'parameters',
    cell: ({ publishedParameters }) => (publishedParameters === null ? '–' : formatCount(publishedParameters)),
  },
  { title: 'layers', cell: ({ model }) => String(model.numLayers) },
  { title: 'hidden', cell: ({ model }) => String(model.hiddenSize) },
  { title: 'source', cell: ({ source }) => source, align: 'left', rank: 1, flex: true },
];
const accelerators: readonly Column<Catalog['accelerators'][number]>[] = [
  { title: 'accelerator', cell: ({ id }) => id, align: 'left' },
  { title: 'bf16 TFLOP/s', cell: ({ peakTflops }) => String(peakTflops.bf16 ?? '–') },
  { title: 'fp8', cell: ({ peakTflops }) => String(peakTflops.fp8 ?? '–'), rank: 3 },
  { title: 'usable GiB', cell: ({ usableMemoryGiB }) => String(usableMemoryGiB) },
  { title: 'scale-up GB/s', cell: ({ scaleUp }) => `${scaleUp.bandwidthGBps} × ${scaleUp.domainSize} ${scaleUp.kind}` },
  {
    title: 'per hour',
    cell: ({ price }) => (price === null ? '–' : formatMoney(price.perAcceleratorHour, price.currency)),
    rank: 2,
  },
  { title: 'also', cell: ({ aliases }) => aliases.slice(0, 3).join(', '), align: 'left', rank: 1, flex: true },
];
const clusters: readonly Column<Catalog['clusters'][number]>[] = [
  { title: 'cluster', cell: ({ id }) => id, align: 'left' },
  { title: 'accelerators', cell: ({ cluster }) => String(cluster.numAccelerators ?? '–') },
  { title: 'of', cell: ({ cluster }) => cluster.accelerator ?? '–', align: 'left' },
  { title: 'what', cell: ({ description }) => description, align: 'left', rank: 1, flex: true },
];
const examples: readonly Column<Catalog['examples'][number]>[] = [
  { title: 'example', cell: ({ presetKey }) => `preset:${presetKey}`, align: 'left' },
  { title: 'title', cell: ({ title }) => title, align: 'left', flex: true },
];

/** `trainyard catalog`: the models, accelerators, clusters and examples that can be named. */
export function catalog(terminal: Terminal, options: { json?: boolean }): Promise<ExitCode> {
  return withPlanner({}, (planner) => {
    const known = planner.catalog;
    if (options.json) {
      printJson(terminal, known);
      return 0;
    }
    const width = terminal.columns;
    terminal.out(`${formatTable(known.examples, examples, width)}\n`);
    terminal.out(`${formatTable(known.models, models, width)}\n`);
    terminal.out(`${formatTable(known.accelerators, accelerators, width)}\n`);
    terminal.out(formatTable(known.clusters, clusters, width));
    return 0;
  });
}
