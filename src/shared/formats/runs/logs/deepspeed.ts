import { GIB } from '../../../units.ts';
import { lineOf, numberAfter, scaled, type LogFormat } from './line.ts';

/**
 * DeepSpeed's throughput timer ("GB" is bytes ÷ 1024³) and its pipeline engine. The timer's current rate is read, not its
 * running mean, which holds the warm-up. Source: deepspeed/utils/timer.py; runtime/pipe/engine.py.
 */
export const deepspeed: LogFormat = {
  framework: 'DeepSpeed',
  looksLike: 'CurrSamplesPerSec=25.7, or steps: 10 loss: 6.9 iter time (s): 1.23 samples/sec: 51.8',
  caution: null,
  read: (line) => {
    const seconds = numberAfter(line, String.raw`\biter time \(s\):`);
    const samples = numberAfter(line, 'CurrSamplesPerSec=') ?? numberAfter(line, 'samples/sec:');
    if (seconds === undefined && !/SamplesPerSec=/.test(line)) return null;
    return lineOf({
      stepSeconds: seconds,
      samplesPerSecond: samples,
      iteration: numberAfter(line, 'global_step=') ?? numberAfter(line, String.raw`\bsteps:`),
      allocatedBytes: scaled(numberAfter(line, 'MaxMemAllocated='), GIB),
    });
  },
};
