import { GIB } from '../../../units.ts';
import { lineOf, numberAfter, scaled, type LogFormat } from './line.ts';

/** torchtitan; wps in older versions, tps since. Both count the tokens of one device. Source: torchtitan metrics.py. */
export const torchtitan: LogFormat = {
  framework: 'torchtitan',
  looksLike: 'step: 10  loss: 7.1  memory: 42.0GiB(53.1%)  tps: 7,412  mfu: 41.2%',
  caution: null,
  read: (line) => {
    const tokens = numberAfter(line, String.raw`\b(?:tps|wps):`);
    if (tokens === undefined || !/\bstep:/.test(line) || /validat|context: val/i.test(line)) return null;
    return lineOf({
      tokensPerSecondPerAccelerator: tokens,
      iteration: numberAfter(line, String.raw`\bstep:`),
      reservedBytes: scaled(numberAfter(line, 'memory:'), GIB),
      tflopsPerAccelerator: numberAfter(line, 'tflops:'),
    });
  },
};
