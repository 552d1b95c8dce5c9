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
  /** Slowdown of matmuls over their curve. */
  matmulSlowdown: number;
  /** Bytes moved per element to cast an input of a matmul; 0 where inputs arrive in their type. */
  castBytesPerElement: number;
  attentionSlowdown: number;
  /** The same of flash attention's second generation. */
  flash2Slowdown: number;
  /** Share of the memory bandwidth that element-wise kernels reach on large arrays. */
  memoryEfficiency: number;
  optimizerEfficiency: number;
}

/**
 * Bytes per element that an fp8 recipe moves to cast an input: read 2, write 1 by rows and 1 by columns (backward reads it
 * transposed). Source: MODEL §4.1 (fp8: cast, then 2MNK at the fp8 rate); Transformer Engine casts each input once for
 * all matmuls that read it, so the tables' own cast, which they measure in every call, is left out.
 */
const FP8_CAST_BYTES = 4;

/**
 * Time of flash attention's second generation on Hopper over that of the kernels that were measured (its third): 75 % of
 * the peak against 35 %. Source: FlashAttention-3 (arXiv 2407.08608, abstract).
 */
const FLASH_2_ON_HOPPER = 0.75 / 0.35;
const HOPPER_CURVES: ReadonlySet<string> = new Set(['h100-sxm', 'h200-sxm']);

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

/**
 * A curve as training sees it: kernels follow one another without a pause, so the part stays at its power limit whatever
 * the size of one kernel, and the sag that a benchmark finds in its longest kernels holds for all.
 */
function sustained<Curve extends MatmulCurve | AttentionCurve>(curve: Curve): Curve {
  return { ...curve, sagHalfFlops: 0 };
}

/** The fp8 curve without the cast that the tables' calls contain, which the step counts by itself. */
function fp8Curve(fp8: MatmulCurve, half: MatmulCurve): MatmulCurve {
  return sustained({
    ...fp8,
    castBytesPerElement: 0,
    launchSeconds: Math.min(fp8.launchSeconds, half.launchSeconds),
    // fp8 draws no less power than 16 bits; where the tables' fp8 kernels are too short to show it, 16 bits do
    sagFraction: Math.max(fp8.sagFraction, half.sagFraction),
  });
}

export function processorOf(problem: Problem): Processor {
  const { device, calibration, workload } = problem;
  const curves = calibration.kernels.accelerators[device.kernelCurves];
  const isFp8 = workload.compute === 'fp8';
  // fp16 runs on the same units at the same rate, and the tables hold bf16
  const halfMatmul = curves?.matmul['bf16'];
  const fp8 = curves?.matmul['fp8'] ?? borrowedFp8(problem);
  const attention = curves?.attention['bf16'];
  if (halfMatmul === undefined || attention === undefined || (isFp8 && fp8 === undefined))
    throw new Error(`no ${workload.compute} curves for ${device.kernelCurves}`);
  const { attentionSlowdown, memoryEfficiency, optimizerEfficiency } = calibration.parameters;
  const { memoryBytesPerSecond, numMultiprocessors } = device;
  const rates = (peakFlopsPerSecond: number) => ({ peakFlopsPerSecond, memoryBytesPerSecond, numMultiprocessors });
  // a part that borrows its curves may reach less than their owner
  const matmulSlowdown = calibration.parameters.matmulSlowdown * device.matmulSlowdown;
  return {
    rates: rates(device.peakFlopsPerSecond),
    matmul: isFp8 && fp8 !== undefined ? fp8Curve(fp8, halfMatmul) : sustained(halfMatmul),
    halfRates: rates(isFp8 ? (device.peaks.bf16 ?? device.peakFlopsPerSecond) : device.peakFlopsPerSecond),
    halfMatmul: sustained(halfMatmul),
    attention: sustained(attention),
    matmulSlowdown,
    castBytesPerElement: isFp8 ? FP8_CAST_BYTES : 0,
    attentionSlowdown,
    flash2Slowdown: attentionSlowdown * (HOPPER_CURVES.has(device.kernelCurves) ? FLASH_2_ON_HOPPER : 1),
    memoryEfficiency,
    optimizerEfficiency,
  };
}

/** The processor with its layers' matmuls in 16 bits: for what stays in them in an fp8 recipe. */
export function inHalf(processor: Processor): Processor {
  const { halfRates: rates, halfMatmul: matmul } = processor;
  return { ...processor, rates, matmul, castBytesPerElement: 0 };
}

/** Seconds to cast an input of a matmul to its type, once for all matmuls that read it. */
function castTime(processor: Processor, elements: number): number {
  return memoryTime(processor, processor.castBytesPerElement * elements);
}

/** Seconds of one matmul kernel in a training stack. */
function kernelTime(processor: Processor, shape: MatmulShape): number {
  const seconds = matmulSeconds(processor.matmul, processor.rates, shape);
  return seconds * matmulAlignmentFactor(shape) * processor.matmulSlowdown;
}

/** Seconds to start one matmul and one cast: what matmuls that run as one kernel pay once. */
export function launchTime({ matmul, matmulSlowdown, castBytesPerElement }: Processor): number {
  return matmul.launchSeconds * matmulSlowdown + (castBytesPerElement > 0 ? KERNEL_LAUNCH_SECONDS : 0);
}

/** Seconds of C[m,n] = A[m,k]·B[k,n] in a training stack, with the cast of A in an fp8 recipe. */
export function matmulTime(processor: Processor, shape: MatmulShape): number {
  return kernelTime(processor, shape) + castTime(processor, shape.m * shape.k);
}

/** Seconds of that matmul's input gradient, [m,n]·[n,k], with the cast of the output's gradient in an fp8 recipe. */
export function inputGradientTime(processor: Processor, { m, n, k }: MatmulShape): number {
  return kernelTime(processor, { m, n: k, k: n }) + castTime(processor, m * n);
}

/** Seconds of that matmul's weight gradient, [k,m]·[m,n]; both sides were cast before. */
export function weightGradientTime(processor: Processor, { m, n, k }: MatmulShape): number {
  return kernelTime(processor, { m: k, n, k: m });
}

/** Seconds of the backward of that matmul. */
export function matmulBackwardTime(processor: Processor, shape: MatmulShape): number {
  return inputGradientTime(processor, shape) + weightGradientTime(processor, shape);
}

/** Seconds of causal flash attention, forward and backward. */
export function flashAttentionTime(
  processor: Processor,
  shape: AttentionShape,
  generation: 'flash' | 'flash-2' = 'flash',
): { forward: number; backward: number } {
  const slowdown = generation === 'flash-2' ? processor.flash2Slowdown : processor.attentionSlowdown;
  const forward = attentionSeconds(processor.attention, processor.halfRates, shape) * slowdown;
  return { forward, backward: forward * ATTENTION_BACKWARD_RATIO };
}

/** Seconds of element-wise kernels that move `bytes` through device memory in `numKernels` launches. */
export function memoryTime(processor: Processor, bytes: number, numKernels = 1): number {
  if (bytes <= 0) return 0;
  return (
    bytes / (processor.rates.memoryBytesPerSecond * processor.memoryEfficiency) + numKernels * KERNEL_LAUNCH_SECONDS
  );
}
