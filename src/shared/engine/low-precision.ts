/**
 * What a recipe in fewer than 16 bits does around its matmuls: which measured curve they run on, what casting an input moves,
 * and what it keeps. The linear layers of a model compute in it (forward, input gradient and weight gradient); attention's
 * core, router, embedding and head stay in 16 bits.
 *
 *   fp8   one kernel: read 2, write 1 by rows and 1 by columns (backward reads it transposed)
 *   fp4   NVFP4, 4 bits and an 8-bit scale per 16 elements = 0.5625 bytes. Three kernels: the largest value of the input and
 *         of its Hadamard transform (read 2), the cast by rows (read 2, write 0.5625), and the cast by columns behind the
 *         transform, for the weight gradient (read 2, write 0.5625)
 *
 * Source: MODEL §4.1; Transformer Engine, transformer_engine/pytorch/csrc/quantizer.cpp (Float8Quantizer, NVFP4Quantizer) and
 * common/recipe (NVFP4BlockScaling); “Pretraining Large Language Models with NVFP4”, arXiv 2509.25149.
 */
import type { Job } from '../schema/index.ts';
import type { MatmulCurve } from './kernels/index.ts';

export type ComputePrecision = Exclude<Job['precision']['compute'], 'fp32'>;

interface LowPrecision {
  /** Name of its matmul curves in the kernel file. */
  curve: string;
  /** First measured part with its units: whose curves a part without its own borrows. */
  firstPart: string;
  /** Bytes that casting one element of an input moves, and in how many kernels. */
  castBytesPerElement: number;
  castKernels: number;
  /** Bytes of an element as a matmul reads it, with its share of the scales. */
  operandBytes: number;
  /** The sag of the longest kernels, from this curve's own and the wider types' (see `sagOf`). */
  sag: (own: number, wider: number) => number;
}

/** 4 bits and an fp8 scale per 16 elements. */
const NVFP4_BYTES = 0.5 + 1 / 16;

const recipes: Readonly<Record<'fp8' | 'fp4', LowPrecision>> = {
  fp8: {
    curve: 'fp8',
    firstPart: 'h100-sxm',
    castBytesPerElement: 4,
    castKernels: 1,
    operandBytes: 1,
    // fp8 draws no less power than 16 bits; where the tables' kernels are too short to show it, 16 bits do
    sag: (own, wider) => Math.max(own, wider),
  },
  fp4: {
    curve: 'nvfp4',
    firstPart: 'b200-sxm',
    castBytesPerElement: 3 * 2 + 2 * NVFP4_BYTES,
    castKernels: 3,
    operandBytes: NVFP4_BYTES,
    // the fit's half size lies at its bound, far beyond the longest fp4 kernel: its endless value was never seen
    sag: (_, wider) => wider,
  },
};

/** The recipe of a precision; null where the matmuls read 16 bits. */
export function lowPrecisionOf(compute: ComputePrecision): LowPrecision | null {
  return compute === 'fp8' || compute === 'fp4' ? recipes[compute] : null;
}

/** Sag of a recipe's kernels under a sustained load, given the curves that are measured beside its own. */
export function sagOf(recipe: LowPrecision, own: MatmulCurve, wider: readonly MatmulCurve[]): number {
  return recipe.sag(own.sagFraction, Math.max(...wider.map(({ sagFraction }) => sagFraction)));
}

/** Bytes of an element of an input that only a matmul reads again in backward. */
export function savedInputBytes(compute: ComputePrecision): number {
  return lowPrecisionOf(compute)?.operandBytes ?? 2;
}

/**
 * Bytes per parameter of the copies of a weight that matmuls read: of a 16-bit weight the cast one and its transpose, of an
 * fp8 weight just the transpose; none in 16 bits.
 */
export function weightCopyBytes(weights: Job['precision']['weights'], compute: ComputePrecision): number {
  const bytes = lowPrecisionOf(compute)?.operandBytes ?? 0;
  return weights === 'fp8' && compute === 'fp8' ? bytes : 2 * bytes;
}
