/**
 * Core attention of one layer: flash (one kernel that never stores the s×s scores) or unfused (batched matmuls, a fused
 * scale-mask-softmax kernel and dropout, as stacks before 2023 ran it).
 * Legend: s = seqLen, b = microBatchSize, a = numHeads, dh = headDim, t = tp.
 * Source: MODEL §4.2–4.3; Korthikanti et al. 2022 §4.1.
 */
import { flashAttentionTime, matmulTime, memoryTime } from '../compute.ts';
import type { LayerContext, Operator } from './operators.ts';
import type { ActivationTensor, TensorContext } from './parts/types.ts';

const BYTES = 2; // activations in bf16 or fp16

/** Heads on one rank, and their widths. */
export interface CoreAttention {
  numHeads: number;
  numKvHeads: number;
  headDim: number;
}

function flash({ numHeads, numKvHeads, headDim }: CoreAttention, context: LayerContext): Operator[] {
  const time = flashAttentionTime(context.processor, {
    batch: context.microBatchSize,
    seqLen: context.seqLen,
    numHeads,
    numKvHeads,
    headDim,
  });
  return [
    {
      label: 'Flash attention',
      kind: 'attention',
      forwardSeconds: time.forward,
      backwardSeconds: time.backward,
      isCoreAttention: true,
      source: 'measured attention curve (docs/KERNELS.md); backward 2.5× FLOPs at 0.85 efficiency (docs/MODEL.md §4.2)',
    },
  ];
}

/**
 * Bytes per score moved by the element-wise kernels of unfused attention:
 *   softmax  forward  read 2 + write 2              backward  read 2 + read 2 + write 2
 *   dropout  forward  read 2 + write 2 + mask 1     backward  read 2 + mask 1 + write 2
 */
function scoreBytes(hasDropout: boolean): { forward: number; backward: number } {
  const dropout = hasDropout ? 2 * BYTES + 1 : 0;
  return { forward: 2 * BYTES + dropout, backward: 3 * BYTES + dropout };
}

function unfused({ numHeads, headDim }: CoreAttention, context: LayerContext): Operator[] {
  const { model, processor, seqLen: s, microBatchSize: b } = context;
  const heads = b * numHeads;
  // a batch of heads runs as one kernel; its tiles are those of one tall matmul over all heads' rows
  const scores = matmulTime(processor, { m: heads * s, n: s, k: headDim });
  const values = matmulTime(processor, { m: heads * s, n: headDim, k: s });
  const bytes = scoreBytes(model.dropout);
  const numKernels = model.dropout ? 2 : 1;
  return [
    {
      label: 'Attention matmuls (QKᵀ and PV, full square)',
      kind: 'attention',
      forwardSeconds: scores + values,
      // dP = dO·Vᵀ and dV = Pᵀ·dO have the shapes of the two; so have dQ and dK
      backwardSeconds: 2 * (scores + values),
      isCoreAttention: true,
      source: 'measured matmul curve at the heads’ shapes (docs/KERNELS.md)',
    },
    {
      label: model.dropout ? 'Softmax and attention dropout' : 'Softmax',
      kind: 'attention',
      forwardSeconds: memoryTime(processor, heads * s * s * bytes.forward, numKernels),
      backwardSeconds: memoryTime(processor, heads * s * s * bytes.backward, numKernels),
      isCoreAttention: true,
      source: 'bytes of the s×s scores ÷ memory bandwidth (Korthikanti et al. 2022 §4.1; docs/MODEL.md §4.2)',
    },
  ];
}

/** Operators of core attention for one micro-batch on one rank. */
export function coreAttentionOperators(heads: CoreAttention, context: LayerContext): Operator[] {
  return context.attentionKernel === 'flash' ? flash(heads, context) : unfused(heads, context);
}

/**
 * What core attention keeps beside Q, K, V and its output: unfused the scores (softmax 2as, with dropout its mask as and
 * its output 2as), flash the log-sum-exp of each row (4a).
 */
export function scoreTensors(numHeads: number, { model, plan, seqLen }: TensorContext): ActivationTensor[] {
  const isFlash = plan.runtime.attentionKernel === 'flash';
  return [
    {
      label: isFlash ? 'Log-sum-exp of the scores' : 'Scores',
      bytesPerToken: isFlash ? 4 * numHeads : (model.dropout ? 5 : 2) * numHeads * seqLen,
      modules: ['core-attention'],
      source: isFlash ? 'docs/MODEL.md §3.2' : 'Korthikanti et al. 2022 §4.1 (docs/MODEL.md §3.2)',
    },
  ];
}
