/**
 * Operators → seconds on one device: measured kernel curves for matmuls and attention, a roofline on memory for the
 * rest. Source: MODEL §4; curves and their errors in docs/KERNELS.md.
 */
import { attentionSeconds, matmulAlignmentFactor, matmulSeconds } from './kernels/index.ts';
import type { AttentionCurve, AttentionShape, DeviceRates, MatmulCurve, MatmulShape } from './kernels/index.ts';
import { lowPrecisionOf, sagOf } from './low-precision.ts';
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
  /** Kernels that casting one input takes. */
  castKernels: number;
  attentionSlowdown: number;
  /** The same of flash attention's second generation. */
  flash2Slowdown: number;
  /** Share of the memory bandwidth that element-wise kernels reach on large arrays. */
  memoryEfficiency: number;
  optimizerEfficiency: number;
}

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

/**
 * A curve as training sees it: kernels follow one another without a pause, so the part stays at its power limit whatever
 * the size of one kernel, and the sag that a benchmark finds in its longest kernels holds for all.
 */
function sustained<Curve extends MatmulCurve | AttentionCurve>(curve: Curve): Curve {
  return { ...curve, sagHalfFlops: 0 };
}

/**
 * The layers' curve under a recipe in fewer bits, and undefined where nobody measured it. Each input is cast once for all
 * matmuls that read it, which the step counts by itself, so the cast that every call of the tables contains is left out.
 */
function layerCurve({ device, calibration, workload }: Problem, half: MatmulCurve): MatmulCurve | undefined {
  const recipe = lowPrecisionOf(workload.compute);
  if (recipe === null) return sustained(half);
  const { accelerators } = calibration.kernels;
  const own = accelerators[device.kernelCurves]?.matmul;
  const curve = own?.[recipe.curve] ?? accelerators[recipe.firstPart]?.matmul[recipe.curve];
  if (curve === undefined) return undefined;
  const eight = own?.['fp8'];
  return sustained({
    ...curve,
    castBytesPerElement: 0,
    launchSeconds: Math.min(curve.launchSeconds, half.launchSeconds),
    sagFraction: sagOf(recipe, curve, eight === undefined ? [half] : [half, eight]),
  });
}

export function processorOf(problem: Problem): Processor {
  const { device, calibration, workload } = problem;
  const curves = calibration.kernels.accelerators[device.kernelCurves];
  const recipe = lowPrecisionOf(workload.compute);
  // fp16 runs on the same units at the same rate, and the tables hold bf16
  const halfMatmul = curves?.matmul['bf16'];
  const matmul = halfMatmul === undefined ? undefined : layerCurve(problem, halfMatmul);
  const attention = curves?.attention['bf16'];
  if (halfMatmul === undefined || matmul === undefined || attention === undefined)
    throw new Error(`no ${workload.compute} curves for ${device.kernelCurves}`);
  const { attentionSlowdown, memoryEfficiency, optimizerEfficiency } = calibration.parameters;
  const { memoryBytesPerSecond, numMultiprocessors } = device;
  const rates = (peakFlopsPerSecond: number) => ({ peakFlopsPerSecond, memoryBytesPerSecond, numMultiprocessors });
  // a part that borrows its curves may reach less than their owner
  const matmulSlowdown = calibration.parameters.matmulSlowdown * device.matmulSlowdown;
  return {
    rates: rates(device.peakFlopsPerSecond),
    matmul,
    halfRates: rates(recipe === null ? device.peakFlopsPerSecond : (device.peaks.bf16 ?? device.peakFlopsPerSecond)),
    halfMatmul: sustained(halfMatmul),
    attention: sustained(attention),
    matmulSlowdown,
    castBytesPerElement: recipe?.castBytesPerElement ?? 0,
    castKernels: recipe?.castKernels ?? 0,
    attentionSlowdown,
    flash2Slowdown: attentionSlowdown * (HOPPER_CURVES.has(device.kernelCurves) ? FLASH_2_ON_HOPPER : 1),
    memoryEfficiency,
    optimizerEfficiency,
  };
}

/** The processor with its layers' matmuls in 16 bits: for what stays in them in a recipe of fewer. */
export function inHalf(processor: Processor): Processor {
  const { halfRates: rates, halfMatmul: matmul } = processor;
  return { ...processor, rates, matmul, castBytesPerElement: 0, castKernels: 0 };
}

/** Seconds to cast an input of a matmul to its type, once for all matmuls that read it. */
function castTime(processor: Processor, elements: number): number {
  return memoryTime(processor, processor.castBytesPerElement * elements, processor.castKernels);
}

/** Seconds of one matmul kernel in a training stack. */
function kernelTime(processor: Processor, shape: MatmulShape): number {
  const seconds = matmulSeconds(processor.matmul, processor.rates, shape);
  return seconds * matmulAlignmentFactor(shape) * processor.matmulSlowdown;
}

/** Seconds of C[m,n] = A[m,k]·B[k,n] in a training stack, with the cast of A in a recipe of fewer bits. */
export function matmulTime(processor: Processor, shape: MatmulShape): number {
  return kernelTime(processor, shape) + castTime(processor, shape.m * shape.k);
}

/** Seconds of that matmul's input gradient, [m,n]·[n,k], with the cast of the output's gradient in a recipe of fewer bits. */
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

/** Seconds of a linear map's kernels by pass, casts included; what the casts take of it stands beside. */
export interface LinearSeconds {
  forward: number;
  inputGradient: number;
  weightGradient: number;
  castForward: number;
  castBackward: number;
}

/**
 * `times` linear maps of one shape that run as one kernel (the experts of a rank): each pass is started once, and so is the
 * cast of all their rows.
 */
export function linearSeconds(processor: Processor, { m, n, k }: MatmulShape, times = 1): LinearSeconds {
  const spared = (times - 1) * processor.matmul.launchSeconds * processor.matmulSlowdown;
  const kernel = (shape: MatmulShape) => times * kernelTime(processor, shape) - spared;
  const castForward = castTime(processor, times * m * k);
  const castBackward = castTime(processor, times * m * n);
  return {
    forward: kernel({ m, n, k }) + castForward,
    inputGradient: kernel({ m, n: k, k: n }) + castBackward,
    weightGradient: kernel({ m: k, n, k: m }),
    castForward,
    castBackward,
  };
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
