import { GB } from '../../../units.ts';
import { lineOf, numberAfter, scaled, type LogFormat } from './line.ts';

const inverse = (value: number | undefined) => (value === undefined ? undefined : 1 / value);

/**
 * Composer's console under llm-foundry: one metric a line. Memory is in 10⁹ bytes. Source: Composer speed_monitor.py and
 * memory_monitor.py.
 */
export const composer: LogFormat = {
  framework: 'llm-foundry (Composer)',
  looksLike: 'Train throughput/device/tokens_per_sec: 12034.5',
  caution: 'Composer averages the rate over a window of steps (100 unless set).',
  read: (line) => {
    if (!/\b(throughput|memory)\//.test(line)) return null;
    return lineOf({
      stepSeconds: inverse(numberAfter(line, '[^e]throughput/batches_per_sec:')),
      tokensPerSecondPerAccelerator: numberAfter(line, 'throughput/device/tokens_per_sec:'),
      tokensPerSecond: numberAfter(line, String.raw`throughput/tokens_per_sec:`),
      samplesPerSecond: numberAfter(line, String.raw`throughput/samples_per_sec:`),
      allocatedBytes: scaled(numberAfter(line, 'memory/peak_allocated_mem:'), GB),
      reservedBytes: scaled(numberAfter(line, 'memory/peak_reserved_mem:'), GB),
    });
  },
};
