/** Datasheet rates the curves are fitted against, by accelerator id; `table` is the suffix of its measured tables. */
export interface FitDevice {
  readonly table: string;
  readonly peakFlopsPerSecondByDtype: Readonly<Record<string, number>>;
  readonly memoryBytesPerSecond: number;
  readonly numMultiprocessors: number;
}

const HOPPER_PEAKS = { bf16: 989.4e12, fp8: 1978.9e12 };

/**
 * Dense peaks, memory rates and multiprocessor counts.
 * Source: NVIDIA datasheets, read 2026-08-17 (MODEL §8); headline tensor figures are sparse, halved.
 */
export const DEVICES: Readonly<Record<string, FitDevice>> = {
  'a100-sxm': {
    table: 'a100_sxm',
    peakFlopsPerSecondByDtype: { bf16: 312e12 },
    memoryBytesPerSecond: 2039e9,
    numMultiprocessors: 108,
  },
  'h100-sxm': {
    table: 'h100_sxm',
    peakFlopsPerSecondByDtype: HOPPER_PEAKS,
    memoryBytesPerSecond: 3350e9,
    numMultiprocessors: 132,
  },
  'h200-sxm': {
    table: 'h200_sxm',
    peakFlopsPerSecondByDtype: HOPPER_PEAKS,
    memoryBytesPerSecond: 4800e9,
    numMultiprocessors: 132,
  },
  'b200-sxm': {
    table: 'b200_sxm',
    peakFlopsPerSecondByDtype: { bf16: 2250e12, fp8: 4500e12, fp4: 9000e12 },
    memoryBytesPerSecond: 8000e9,
    numMultiprocessors: 148,
  },
  'b300-sxm': {
    table: 'b300_sxm',
    peakFlopsPerSecondByDtype: { bf16: 2250e12, fp8: 4500e12, fp4: 12_600e12 },
    memoryBytesPerSecond: 8000e9,
    numMultiprocessors: 148,
  },
  gb200: {
    table: 'gb200',
    peakFlopsPerSecondByDtype: { bf16: 2500e12, fp8: 5000e12, fp4: 10_000e12 },
    memoryBytesPerSecond: 8000e9,
    numMultiprocessors: 148,
  },
  gb300: {
    table: 'gb300',
    peakFlopsPerSecondByDtype: { bf16: 2500e12, fp8: 5000e12, fp4: 15_000e12 },
    memoryBytesPerSecond: 8000e9,
    numMultiprocessors: 160,
  },
  l40s: {
    table: 'l40s',
    peakFlopsPerSecondByDtype: { bf16: 362e12, fp8: 733e12 },
    memoryBytesPerSecond: 864e9,
    numMultiprocessors: 142,
  },
};
