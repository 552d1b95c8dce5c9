/**
 * Operators → seconds on one device: measured kernel curves for matmuls and attention, a roofline on memory for the
 * rest. Source: MODEL §4; curves and their errors in docs/KERNELS.md.
 */
import { attentionSeconds, matmulAlignmentFactor, matmulSeconds } from './kernels/index.ts';
import type { AttentionCurve, AttentionShape, DeviceRates, MatmulCurve, MatmulShape } from './kernels/index.ts';
import type { Problem } from './problem.ts';

/** A device with the curves and constants that turn shapes into seconds. */
export interface Processor {
  rates: DeviceRates;
  matmul: MatmulCurve;
  attention: AttentionCurve;
  matmulSlowdown: number;
  attentionSlowdown: number;
  /** Share of the memory bandwidth that element-wise kernels reach on large arrays. */
  memoryEfficiency: number;
  optimizerEfficiency: number;
}

/** Fixed cost of one element-wise kernel. Source: MODEL §4.3, 0.8 of bandwidth + 3 µs on H100. */
export const KERNEL_LAUNCH_SECONDS = 3e-6;

/**
 * Backward of flash attention relative to forward: 2.5 × the FLOPs (five matmuls for two) at 0.85 of the forward's
 * efficiency. Source: MODEL §4.2.
 */
const ATTENTION_BACKWARD_RATIO = 2.5 / 0.85;

export function processorOf(problem: Problem): Processor {
  const { device, calibration } = problem;
  const curves = calibration.kernels.accelerators[device.kernelCurves];
  // fp16 runs on the same units at the same rate, and the tables hold bf16
  const matmul = curves?.matmul['bf16'];
  const attention = curves?.attention['bf16'];
  if (matmul === undefined || attention === undefined) throw new Error(`no bf16 curves for ${device.kernelCurves}`);
  const { matmulSlowdown, attentionSlowdown, memoryEfficiency, optimizerEfficiency } = calibration.parameters;
  return {
    rates: {
      peakFlopsPerSecond: device.peakFlopsPerSecond,
      memoryBytesPerSecond: device.memoryBytesPerSecond,
      numMultiprocessors: device.numMultiprocessors,
    },
    matmul,
    attention,
    // a part that borrows its curves may reach less than their owner
    matmulSlowdown: matmulSlowdown * device.matmulSlowdown,
    attentionSlowdown,
    memoryEfficiency,
    optimizerEfficiency,
  };
}

/** Seconds of C[m,n] = A[m,k]·B[k,n] in a training stack. */
export function matmulTime(processor: Processor, shape: MatmulShape): number {
  const seconds = matmulSeconds(processor.matmul, processor.rates, shape);
  return seconds * matmulAlignmentFactor(shape) * processor.matmulSlowdown;
}

/** Seconds of that matmul's weight gradient, [k,m]·[m,n]. */
export function weightGradientTime(processor: Processor, { m, n, k }: MatmulShape): number {
  return matmulTime(processor, { m: k, n, k: m });
}

/** Seconds of the backward of that matmul: input gradient [m,n]·[n,k] and weight gradient. */
export function matmulBackwardTime(processor: Processor, shape: MatmulShape): number {
  const { m, n, k } = shape;
  return matmulTime(processor, { m, n: k, k: n }) + weightGradientTime(processor, shape);
}

/** Seconds of causal flash attention, forward and backward. */
export function flashAttentionTime(processor: Processor, shape: AttentionShape): { forward: number; backward: number } {
  const forward = attentionSeconds(processor.attention, processor.rates, shape) * processor.attentionSlowdown;
  return { forward, backward: forward * ATTENTION_BACKWARD_RATIO };
}

/** Seconds of element-wise kernels that move `bytes` through device memory in `numKernels` launches. */
export function memoryTime(processor: Processor, bytes: number, numKernels = 1): number {
  if (bytes <= 0) return 0;
  return (
    bytes / (processor.rates.memoryBytesPerSecond * processor.memoryEfficiency) + numKernels * KERNEL_LAUNCH_SECONDS
  );
}
