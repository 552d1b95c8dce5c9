/** How a time came about: its formula and the numbers that went in. Built only when somebody asks. */
import type { Quantity } from '../../schema/index.ts';
import { KERNEL_LAUNCH_SECONDS, type Processor } from '../compute.ts';
import type { AttentionShape, MatmulShape } from '../kernels/index.ts';
import type { Group } from '../network/index.ts';

export type PassName = 'forward' | 'backward';

export interface Explanation {
  formula: string;
  inputs: Quantity[];
}

export type Explain = (pass: PassName) => Explanation;

export const quantity = (label: string, value: number, unit = ''): Quantity => ({ label, value, unit });

/** FLOPs of a kernel, and the share of the peak that they run at. */
function shareOfPeak(flops: number, seconds: number, peakFlopsPerSecond: number): Quantity[] {
  return [
    quantity('FLOPs', flops, 'FLOP'),
    quantity('dense peak', peakFlopsPerSecond, 'FLOP/s'),
    quantity('share of the peak', seconds > 0 ? flops / seconds / peakFlopsPerSecond : 0, 'fraction'),
  ];
}

/** A linear map of m tokens from k to n wide, `times` over; a frozen one has no gradient of its weights. Source of the formula: MODEL §4.1. */
export function explainMatmul(
  processor: Processor,
  { m, n, k }: MatmulShape,
  seconds: Record<PassName, number>,
  { times = 1, isFrozen = false } = {},
): Explain {
  const cast = processor.castBytesPerElement > 0;
  return (pass) => {
    const isForward = pass === 'forward';
    const backward = isFrozen ? 'kernel(m, k, n)' : '(kernel(m, k, n) + kernel(k, n, m))';
    const kernels = isForward ? 'kernel(m, n, k)' : backward;
    const passes = isForward || isFrozen ? 1 : 2;
    return {
      formula: `${times === 1 ? '' : 'matmuls · '}${kernels} · alignment · matmulSlowdown${cast ? ' + cast' : ''}`,
      inputs: [
        ...(times === 1 ? [] : [quantity('matmuls in one kernel', times)]),
        quantity('rows m', m),
        quantity('columns n', n),
        quantity('depth k', k),
        quantity('matmulSlowdown', processor.matmulSlowdown, 'ratio'),
        ...(cast ? [quantity('cast', processor.castBytesPerElement * m * (isForward ? k : n) * times, 'B')] : []),
        ...shareOfPeak(2 * passes * m * n * k * times, seconds[pass], processor.rates.peakFlopsPerSecond),
      ],
    };
  };
}

/** Kernels bound by memory: bytes and launches of each pass. Source of the formula: MODEL §4.3. */
export function explainMoved(
  { rates, memoryEfficiency }: Processor,
  moved: Record<PassName, { bytes: number; kernels: number }>,
): Explain {
  return (pass) => ({
    formula: 'bytes ÷ (memory bandwidth · memoryEfficiency) + kernels · launch',
    inputs: [
      quantity('bytes', moved[pass].bytes, 'B'),
      quantity('memory bandwidth', rates.memoryBytesPerSecond, 'B/s'),
      quantity('memoryEfficiency', memoryEfficiency, 'fraction'),
      quantity('kernels', moved[pass].kernels),
      quantity('launch', KERNEL_LAUNCH_SECONDS, 's'),
    ],
  });
}

/** One causal attention kernel on the whole sequence. Source of the formula: MODEL §4.2. */
export function explainFlash(processor: Processor, shape: AttentionShape, seconds: Record<PassName, number>): Explain {
  const forwardFlops = 2 * shape.batch * shape.numHeads * shape.seqLen ** 2 * shape.headDim;
  return (pass) => ({
    formula:
      pass === 'forward'
        ? '(launch + bytes ÷ bandwidth + scores · sag + rows + tail) · attentionSlowdown'
        : 'forward · 2.5 ÷ 0.85',
    inputs: [
      quantity('sequences', shape.batch),
      quantity('tokens of a sequence', shape.seqLen),
      quantity('query heads', shape.numHeads),
      quantity('key/value heads', shape.numKvHeads),
      quantity('head size', shape.headDim),
      ...shareOfPeak(
        forwardFlops * (pass === 'forward' ? 1 : 2.5),
        seconds[pass],
        processor.halfRates.peakFlopsPerSecond,
      ),
    ],
  });
}

/** A collective: what it carries, between whom, and how much of it is hidden. Source of the formula: MODEL §5.1, §5.4. */
export function explainCollective(
  group: Group,
  bytes: number,
  seconds: Record<PassName, { waited: number; hidden: number }>,
): Explain {
  return (pass) => ({
    formula: 'time of the collective − what is hidden beside compute',
    inputs: [
      quantity('array', bytes, 'B'),
      quantity('ranks', group.size),
      quantity('ranks in a domain', group.ranksPerDomain),
      quantity('time of the collective', seconds[pass].waited + seconds[pass].hidden, 's'),
      quantity('hidden', seconds[pass].hidden, 's'),
    ],
  });
}
