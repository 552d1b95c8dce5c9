/**
 * A dense decoder layer, GPT style (LayerNorm, GELU, biases, dropout) or Llama style (RMSNorm, gated FFN, rotary
 * positions, grouped-query attention): attention and FFN blocks with their matmuls, element-wise kernels and
 * tensor-parallel collectives, for one micro-batch on one rank.
 *
 * Legend: T = seqLen·microBatchSize tokens, h = hiddenSize, f = ffnHiddenSize, a·dh = attention width, t = tp.
 * Source: MODEL §2.1, §4.3 (bytes of element-wise kernels), §5.3 (tensor-parallel volumes).
 */
import { matmulBackwardTime, matmulTime, memoryTime, weightGradientTime, type Processor } from '../compute.ts';
import type { MatmulShape } from '../kernels/index.ts';
import { groupOf, groupSeconds } from '../network/index.ts';
import { coreAttentionOperators } from './attention.ts';
import type { LayerContext, Operator } from './operators.ts';
import { qkvWidth } from './parameters.ts';

const MATMUL_SOURCE = 'measured matmul curve at the rank’s shapes (docs/KERNELS.md)';
const MEMORY_SOURCE = 'bytes ÷ memory bandwidth (docs/MODEL.md §4.3)';

function matmul(label: string, context: LayerContext, shape: MatmulShape): Operator {
  return {
    label,
    kind: 'matmul',
    forwardSeconds: matmulTime(context.processor, shape),
    backwardSeconds: matmulBackwardTime(context.processor, shape),
    isCoreAttention: false,
    source: MATMUL_SOURCE,
  };
}

interface Bytes {
  forward: number;
  backward: number;
  forwardKernels: number;
  backwardKernels: number;
}

function elementwise(label: string, processor: Processor, bytes: Bytes): Operator {
  return {
    label,
    kind: 'elementwise',
    forwardSeconds: memoryTime(processor, bytes.forward, bytes.forwardKernels),
    backwardSeconds: memoryTime(processor, bytes.backward, bytes.backwardKernels),
    isCoreAttention: false,
    source: MEMORY_SOURCE,
  };
}

/** Norms, residual additions and dropout: on the whole sequence without sequence parallelism, on 1/t of it with. */
function normAndResidual(context: LayerContext): Operator[] {
  const { model, processor } = context;
  const tokens = (context.seqLen * context.microBatchSize) / (context.sequenceParallel ? context.tp : 1);
  const h = model.hiddenSize;
  const norms = elementwise('Norms', processor, {
    forward: 2 * 4 * h * tokens, // read 2h, write 2h, twice a layer
    backward: 2 * 8 * h * tokens, // read output gradient and input, write input gradient, reduce the scale's gradient
    forwardKernels: 2,
    backwardKernels: 4,
  });
  const residual = elementwise(model.dropout ? 'Bias, dropout and residual' : 'Residual additions', processor, {
    forward: 2 * (6 + (model.dropout ? 1 : 0)) * h * tokens, // read branch and residual, write sum (and mask)
    // the two branches' gradients are added (6h); dropout reads its mask and rewrites the gradient (5h)
    backward: 2 * (6 + (model.dropout ? 5 : 0)) * h * tokens,
    forwardKernels: 2,
    backwardKernels: model.dropout ? 4 : 2,
  });
  return [norms, residual];
}

/** Activation function, rotary embedding and bias gradients: on the rank's own columns. */
function activations(context: LayerContext): Operator[] {
  const { model, processor, tp } = context;
  const tokens = context.seqLen * context.microBatchSize;
  const f = model.ffnHiddenSize / tp;
  const activation = elementwise(model.gatedFfn ? 'SwiGLU' : 'GELU', processor, {
    forward: (model.gatedFfn ? 6 : 4) * f * tokens,
    backward: (model.gatedFfn ? 10 : 6) * f * tokens,
    forwardKernels: 1,
    backwardKernels: 1,
  });
  const operators = [activation];
  if (model.positions === 'rotary' && context.attentionKernel === 'unfused') {
    // the flash curve's measurement includes the rotary pass; the batched matmuls do not
    const bytes = (4 * (model.numHeads + model.numKvHeads) * model.headDim * tokens) / tp;
    operators.push(
      elementwise('Rotary embedding', processor, {
        forward: bytes,
        backward: bytes,
        forwardKernels: 2,
        backwardKernels: 2,
      }),
    );
  }
  if (model.ffnBias || model.qkvBias) {
    const width = (model.qkvBias ? qkvWidth(model) / tp : 0) + (model.ffnBias ? f + 2 * model.hiddenSize : 0);
    operators.push(
      elementwise('Bias gradients', processor, {
        forward: 0,
        backward: 2 * width * tokens,
        forwardKernels: 0,
        backwardKernels: 2,
      }),
    );
  }
  return operators;
}

/** Adding each micro-batch's weight gradients to the accumulated ones, where the matmul kernel does not do it. */
function gradientAccumulation(context: LayerContext): Operator[] {
  const { model, processor, tp } = context;
  const weights =
    (model.hiddenSize * (qkvWidth(model) + model.numHeads * model.headDim) +
      (model.gatedFfn ? 3 : 2) * model.hiddenSize * model.ffnHiddenSize) /
    tp;
  const g = context.gradientBytesPerParameter;
  // unfused: read the new 2-byte gradient, read and write the sum; fused: the kernel's epilogue reads and writes the sum
  const bytes = context.fusedGradientAccumulation ? 2 * g - 2 : 2 + 2 * g;
  return [
    elementwise('Weight-gradient accumulation', processor, {
      forward: 0,
      backward: bytes * weights,
      forwardKernels: 0,
      backwardKernels: context.fusedGradientAccumulation ? 0 : 4,
    }),
  ];
}

/** Share of a hidden collective that its matmul pays back by lending it multiprocessors. Source: MODEL §5.4. */
const HIDDEN_COLLECTIVE_COST = 0.15;

/**
 * Tensor-parallel collectives. Without sequence parallelism two all-reduces of 2·T·h bytes forward and two backward;
 * with it each becomes an all-gather and a reduce-scatter. Megatron-LM since v3 runs the backward sums of its
 * column-parallel layers beside their weight-gradient matmuls; what the matmuls are too short to hide stays. (Sequence
 * parallelism's two further all-gathers, which rebuild saved inputs, run beside the input-gradient matmuls.)
 * Source: MODEL §5.3–5.4; Korthikanti et al. 2022 §4.2; Megatron-LM tensor_parallel/layers.py (async all-reduce, 2022).
 */
function tensorParallel(context: LayerContext, weightGradientSeconds: number): Operator[] {
  const { tp, links } = context;
  if (tp === 1) return [];
  const bytes = 2 * context.seqLen * context.microBatchSize * context.model.hiddenSize;
  const group = groupOf(links.domainSize, tp, 1);
  const gather = context.sequenceParallel ? groupSeconds(links, 'allGather', group, bytes) : 0;
  const reduce = groupSeconds(links, context.sequenceParallel ? 'reduceScatter' : 'allReduce', group, bytes);
  const visible = 1 - context.tpOverlapFraction;
  const backwardReduce = context.isBackwardReduceHidden
    ? Math.max(2 * reduce - weightGradientSeconds, 2 * reduce * HIDDEN_COLLECTIVE_COST)
    : 2 * reduce;
  const forward = 2 * (gather + reduce);
  const backward = 2 * gather + backwardReduce;
  return [
    {
      label: context.sequenceParallel ? 'TP all-gathers and reduce-scatters' : 'TP all-reduces',
      kind: 'communication',
      forwardSeconds: forward * visible,
      backwardSeconds: backward * visible,
      hiddenForwardSeconds: forward * (1 - visible),
      // of sequence parallelism's four all-gathers in backward two only rebuild inputs and are hidden
      hiddenBackwardSeconds: 4 * gather + 2 * reduce - backward * visible,
      isCoreAttention: false,
      source: 'measured collective curve (docs/KERNELS.md), volume and overlap docs/MODEL.md §5.3–5.4',
    },
  ];
}

/** All operators of one dense layer. */
export function denseLayerOperators(context: LayerContext): Operator[] {
  const { model, tp } = context;
  const m = context.seqLen * context.microBatchSize;
  const h = model.hiddenSize;
  const f = model.ffnHiddenSize / tp;
  const attentionWidth = (model.numHeads * model.headDim) / tp;
  const qkv = { m, n: qkvWidth(model) / tp, k: h };
  const up = { m, n: f * (model.gatedFfn ? 2 : 1), k: h };
  const weightGradients = weightGradientTime(context.processor, qkv) + weightGradientTime(context.processor, up);
  return [
    matmul('QKV projection', context, qkv),
    ...coreAttentionOperators(context),
    matmul('Attention output projection', context, { m, n: h, k: attentionWidth }),
    matmul(model.gatedFfn ? 'FFN gate and up' : 'FFN up', context, up),
    matmul('FFN down', context, { m, n: h, k: f }),
    ...normAndResidual(context),
    ...activations(context),
    ...gradientAccumulation(context),
    ...tensorParallel(context, weightGradients),
  ];
}
