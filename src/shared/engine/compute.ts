/**
 * Operators → seconds on one device: measured kernel curves for matmuls and attention, a roofline on memory for the
 * rest. Source: MODEL §4; curves and their errors in docs/KERNELS.md.
 */
import { attentionSeconds, matmulAlignmentFactor, matmulSeconds } from './kernels/index.ts';
import type { AttentionCurve, AttentionShape, DeviceRates, MatmulCurve, MatmulShape } from './kernels/index.ts';
import type { Problem } from './problem.ts';

/** A device with the curves and constants that turn shapes into seconds. */
export interface Processor {
  /** Peak of the layers' matmuls. */
  rates: DeviceRates;
  matmul: MatmulCurve;
  /** Peak and curve of what stays in 16 bits whatever the layers compute in: attention, router, head. */
  halfRates: DeviceRates;
  halfMatmul: MatmulCurve;
  attention: AttentionCurve;
  /** Slowdown of the layers' matmuls over their curve, and of 16-bit ones. */
  matmulSlowdown: number;
  halfMatmulSlowdown: number;
  attentionSlowdown: number;
  /** Share of the memory bandwidth that element-wise kernels reach on large arrays. */
  memoryEfficiency: number;
  optimizerEfficiency: number;
}

/**
 * How much faster fp8 matmuls of training run than the tables, which quantise the input in the measured call: training
 * casts once for several matmuls and fuses the cast with the kernel before. Source: our
 * prototype's fit over training runs, docs/MODEL.md §4.1.
 */
const FP8_TRAINING_GAIN = 1.35;

/** Fixed cost of one element-wise kernel. Source: MODEL §4.3, 0.8 of bandwidth + 3 µs on H100. */
export const KERNEL_LAUNCH_SECONDS = 3e-6;

/**
 * Backward of flash attention relative to forward: 2.5 × the FLOPs (five matmuls for two) at 0.85 of the forward's
 * efficiency. Source: MODEL §4.2.
 */
const ATTENTION_BACKWARD_RATIO = 2.5 / 0.85;

/** fp8 curve for a part that borrows the kernels of one without fp8: the H100's, the first part with it. */
function borrowedFp8({ calibration }: Problem): MatmulCurve | undefined {
  return calibration.kernels.accelerators['h100-sxm']?.matmul['fp8'];
}

export function processorOf(problem: Problem): Processor {
  const { device, calibration, workload } = problem;
  const curves = calibration.kernels.accelerators[device.kernelCurves];
  const isFp8 = workload.compute === 'fp8';
  // fp16 runs on the same units at the same rate, and the tables hold bf16
  const matmul = isFp8 ? (curves?.matmul['fp8'] ?? borrowedFp8(problem)) : curves?.matmul['bf16'];
  const halfMatmul = curves?.matmul['bf16'];
  const attention = curves?.attention['bf16'];
  if (matmul === undefined || halfMatmul === undefined || attention === undefined)
    throw new Error(`no ${workload.compute} curves for ${device.kernelCurves}`);
  const { matmulSlowdown, attentionSlowdown, memoryEfficiency, optimizerEfficiency } = calibration.parameters;
  const { memoryBytesPerSecond, numMultiprocessors } = device;
  const rates = (peakFlopsPerSecond: number) => ({ peakFlopsPerSecond, memoryBytesPerSecond, numMultiprocessors });
  return {
    rates: rates(device.peakFlopsPerSecond),
    matmul,
    halfRates: rates(isFp8 ? (device.peaks.bf16 ?? device.peakFlopsPerSecond) : device.peakFlopsPerSecond),
    halfMatmul,
    attention,
    // a part that borrows its curves may reach less than their owner
    matmulSlowdown: (isFp8 ? matmulSlowdown / FP8_TRAINING_GAIN : matmulSlowdown) * device.matmulSlowdown,
    halfMatmulSlowdown: matmulSlowdown * device.matmulSlowdown,
    attentionSlowdown,
    memoryEfficiency,
    optimizerEfficiency,
  };
}

/** The processor with its layers' matmuls in 16 bits: for what stays in them in an fp8 recipe. */
export function inHalf(processor: Processor): Processor {
  const { halfRates: rates, halfMatmul: matmul, halfMatmulSlowdown: matmulSlowdown } = processor;
  return { ...processor, rates, matmul, matmulSlowdown };
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
  const forward = attentionSeconds(processor.attention, processor.halfRates, shape) * processor.attentionSlowdown;
  return { forward, backward: forward * ATTENTION_BACKWARD_RATIO };
}

/** Seconds of element-wise kernels that move `bytes` through device memory in `numKernels` launches. */
export function memoryTime(processor: Processor, bytes: number, numKernels = 1): number {
  if (bytes <= 0) return 0;
  return (
    bytes / (processor.rates.memoryBytesPerSecond * processor.memoryEfficiency) + numKernels * KERNEL_LAUNCH_SECONDS
  );
}
