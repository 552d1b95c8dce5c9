/**
 * Bytes that element-wise work moves per element of a 16-bit tensor, in fused kernels or operation by operation, and in how
 * many launches. An operation reads and writes 2 bytes per element and operand; what is computed in fp32 is cast first
 * (read 2, write 4) and back (4, 2).
 *
 *   LayerNorm    one kernel either way (PyTorch has its own)                          read 2, write 2 | 8
 *   RMSNorm      cast 6, square 8, mean 4, scale 8, cast back 6, weight 4             36 | twice that
 *   GELU         4 | 6; unfused the bias is added before: + 4 | + 2 for its sum
 *   SwiGLU       6 | 10; unfused SiLU 4 and product 6 | SiLU 6 and two products of 6
 *   residual     6 | 6; dropout: mask + 1 | + 5; unfused bias 4, dropout 5, sum 6 | mask 5, bias 2, sum 6
 *   softmax      see core-attention.ts; unfused scale 4 and mask 5 beside it, each way
 *   rotation     4 | 4; unfused cast 6, product 8, cast back 6, each way
 *
 * Fused: Megatron-LM's bias-GELU, bias-dropout-add and scale-mask-softmax kernels (Narayanan et al. SC'21 §4.2), Transformer
 * Engine, torch.compile, XLA. Unfused: PyTorch's own operations (torch/nn/functional.py, RMSNorm as
 * aten/native/layer_norm.cpp composes it, rotation as torchtitan's apply_rotary_emb).
 */
import type { Model } from '../../schema/index.ts';
import type { MovedBytes } from './operators.ts';

/** Bytes per element, for so many kernels. */
export interface Moved {
  forward: number;
  backward: number;
  forwardKernels: number;
  backwardKernels: number;
}

const moved = (forward: number, backward: number, forwardKernels = 1, backwardKernels = 1): Moved => ({
  forward,
  backward,
  forwardKernels,
  backwardKernels,
});

/** Bytes per element of one norm. Backward of the fused one: read output gradient and input, write, reduce the scale's. */
export function normBytes({ normalization }: Pick<Model, 'normalization'>, isFused: boolean): Moved {
  return isFused || normalization === 'layernorm' ? moved(4, 8, 1, 2) : moved(36, 72, 6, 12);
}

/** Bytes per element of the activation's width. */
export function activationBytes({ gated, bias }: { gated: boolean; bias: boolean }, isFused: boolean): Moved {
  if (gated) return isFused ? moved(6, 10) : moved(10, 18, 2, 3);
  return isFused || !bias ? moved(4, 6) : moved(8, 8, 2, 2);
}

/** Bytes per element of adding a branch to the residual stream: the gradients of both are added on the way back. */
export function residualBytes({ dropout }: Pick<Model, 'dropout'>, isFused: boolean): Moved {
  if (!dropout) return moved(6, 6);
  return isFused ? moved(7, 11, 1, 2) : moved(15, 13, 3, 3);
}

/** Bytes per score of scaling and masking apart from the softmax, each way. */
export const SCALE_AND_MASK_BYTES = 4 + 5;

/** Bytes per element of the rotation of queries and keys, each way. */
export const rotationBytes = (isFused: boolean): number => (isFused ? 4 : 20);

/** Bytes and launches for so many elements, in as many calls. */
export function timesElements(
  { forward, backward, forwardKernels, backwardKernels }: Moved,
  elements: number,
  calls = 1,
): MovedBytes {
  return {
    forward: forward * elements,
    backward: backward * elements,
    forwardKernels: forwardKernels * calls,
    backwardKernels: backwardKernels * calls,
  };
}
