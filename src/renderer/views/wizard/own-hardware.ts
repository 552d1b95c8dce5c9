/** An accelerator's figures as a scenario may override them, and as they are shown with their sources. */
import type { Accelerator } from '#shared/schema/index.ts';
import { showNumber } from './numbers.ts';

/** The catalog's figures to start from when somebody wants to use their own. */
export function ownFiguresOf(accelerator: Accelerator): Readonly<Record<string, unknown>> {
  const { name, kernelCurves, similarTo, peakTflops, bestMatmulTflops, memoryGiB, usableMemoryGiB } = accelerator;
  const { memoryBandwidthGBps, numMultiprocessors, hostLinkGBps, hostLinkKind, hostMemoryGiB, powerW } = accelerator;
  return {
    ...{ name: `${name} (own figures)`, kernelCurves, similarTo, peakTflops: { ...peakTflops }, bestMatmulTflops },
    ...{ memoryGiB, usableMemoryGiB, memoryBandwidthGBps, numMultiprocessors, hostLinkGBps, hostLinkKind },
    ...{ hostMemoryGiB, powerW },
  };
}

/** One figure of the catalog and where it comes from. */
export interface SourcedFigure {
  label: string;
  value: string;
  source: string;
  date: string;
  confidence: 'A' | 'B' | null;
  note: string | null;
}

const wirings = { switched: 'switched', ring: 'in a ring', torus: 'in a torus', pairwise: 'in pairs' } as const;
const numberOr = (value: number | null, unit: string) =>
  value === null ? 'not known' : `${showNumber(value)} ${unit}`;

function peaksText({ peakTflops }: Accelerator): string {
  const known = Object.entries(peakTflops).filter((entry): entry is [string, number] => entry[1] !== null);
  return known.map(([precision, tflops]) => `${precision} ${showNumber(tflops)}`).join(', ');
}

const scaleUpText = ({ scaleUp }: Accelerator) =>
  `${showNumber(scaleUp.bandwidthGBps)} GB/s among ${showNumber(scaleUp.domainSize)}, ${wirings[scaleUp.kind]}` +
  (scaleUp.linkGBps === null ? '' : `, ${showNumber(scaleUp.linkGBps)} GB/s per link`);

const figures: readonly { key: string; label: string; text: (accelerator: Accelerator) => string }[] = [
  { key: 'peakTflops', label: 'Dense peak, TFLOP/s', text: peaksText },
  {
    key: 'bestMatmulTflops',
    label: 'Best matmul measured',
    text: (a) => numberOr(a.bestMatmulTflops, 'TFLOP/s'),
  },
  { key: 'memoryGiB', label: 'Memory', text: (a) => numberOr(a.memoryGiB, 'GiB') },
  { key: 'usableMemoryGiB', label: 'Usable memory', text: (a) => numberOr(a.usableMemoryGiB, 'GiB') },
  { key: 'memoryBandwidthGBps', label: 'Memory bandwidth', text: (a) => numberOr(a.memoryBandwidthGBps, 'GB/s') },
  { key: 'numMultiprocessors', label: 'Multiprocessors', text: (a) => numberOr(a.numMultiprocessors, '').trim() },
  { key: 'scaleUp', label: 'Scale-up, per direction', text: scaleUpText },
  {
    key: 'scaleOut',
    label: 'Scale-out, per direction',
    text: ({ scaleOut }) => `${showNumber(scaleOut.nicsPerAccelerator)} × ${showNumber(scaleOut.bandwidthGbps)} Gb/s`,
  },
  { key: 'hostLinkGBps', label: 'Link to the host', text: (a) => numberOr(a.hostLinkGBps, 'GB/s') },
  { key: 'hostMemoryGiB', label: 'Host memory, usual node', text: (a) => numberOr(a.hostMemoryGiB, 'GiB') },
  { key: 'powerW', label: 'Power', text: (a) => numberOr(a.powerW, 'W') },
];

/** Every figure with its source, date, confidence and note; the price last. */
export function sourcedFigures(accelerator: Accelerator): SourcedFigure[] {
  const rows = figures
    .filter(({ key }) => accelerator.sources[key] !== undefined)
    .map(({ key, label, text }) => {
      const { source = '', date = '', confidence = null, note = null } = accelerator.sources[key] ?? {};
      return { label, value: text(accelerator), source, date, confidence, note };
    });
  const { price } = accelerator;
  if (price === null) return rows;
  const value = `${showNumber(price.perAcceleratorHour)} ${price.currency} per hour`;
  return [...rows, { label: 'Price', value, source: price.source, date: price.date, confidence: null, note: null }];
}
