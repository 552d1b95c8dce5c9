/**
 * Core attention of one layer: flash (one kernel that never stores the s×s scores) or unfused (batched matmuls, a fused
 * scale-mask-softmax kernel and dropout, as stacks before 2023 ran it).
 * Legend: s = seqLen, b = microBatchSize, a = numHeads, dh = headDim, t = tp.
 * Source: MODEL §4.2–4.3; Korthikanti et al. 2022 §4.1.
 */
import { flashAttentionTime, inHalf, matmulTime, memoryTime } from '../compute.ts';
import { groupSeconds, splitGroup, type Group } from '../network/index.ts';
import { SCALE_AND_MASK_BYTES } from './fusion.ts';
import { explainCollective, explainFlash, explainMatmul, explainMoved } from './explanation.ts';
import type { LayerContext, Operator } from './operators.ts';
import type { ActivationTensor, TensorContext } from './parts/types.ts';

const CORE = ['core-attention'] as const;
const BYTES = 2; // activations in bf16 or fp16

/** Heads on one rank, and their widths. */
export interface CoreAttention {
  numHeads: number;
  numKvHeads: number;
  headDim: number;
  /** Share of the causal scores that a window or an indexer leaves; 1 = all. */
  share?: number;
}

/**
 * Shape of the flash kernels of one of cp ranks, and the share of that shape's time that the rank works. A ring works off
 * c blocks of s/c tokens, an all-gather the rank's queries against all keys, Ulysses some heads over all tokens; chunks
 * are dealt out so that all ranks see as many scores.
 */
function flashShape({ numHeads, numKvHeads, headDim }: CoreAttention, context: LayerContext) {
  const { cp, cpMethod, seqLen, microBatchSize: batch } = context;
  const whole = { batch, seqLen, numHeads, numKvHeads, headDim };
  if (cp === 1) return { shape: whole, share: 1 };
  if (cpMethod === 'ring' || cpMethod === 'hierarchical')
    return { shape: { ...whole, batch: batch * cp, seqLen: seqLen / cp }, share: 1 };
  if (cpMethod === 'all-gather') return { shape: whole, share: 1 / cp };
  return { shape: { ...whole, numHeads: numHeads / cp, numKvHeads: Math.max(1, numKvHeads / cp) }, share: 1 };
}

function flash(heads: CoreAttention, context: LayerContext): Operator[] {
  const { shape, share: dealt } = flashShape(heads, context);
  const generation = context.attentionKernel === 'flash-2' ? 'flash-2' : 'flash';
  const time = flashAttentionTime(context.processor, shape, generation);
  const share = dealt * (heads.share ?? 1);
  return [
    {
      label: generation === 'flash' ? 'Flash attention' : 'Flash attention, second generation',
      kind: 'attention',
      forwardSeconds: share * time.forward,
      backwardSeconds: share * time.backward,
      modules: CORE,
      explain: explainFlash(context.processor, shape, time),
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
  const scores = matmulTime(inHalf(processor), { m: heads * s, n: s, k: headDim });
  const values = matmulTime(inHalf(processor), { m: heads * s, n: headDim, k: s });
  const softmax = scoreBytes(model.dropout);
  const apart = context.fusedKernels ? 0 : SCALE_AND_MASK_BYTES;
  const bytes = { forward: softmax.forward + apart, backward: softmax.backward + apart };
  const numKernels = (model.dropout ? 2 : 1) + (context.fusedKernels ? 0 : 2);
  return [
    {
      label: 'Attention matmuls (QKᵀ and PV, full square)',
      kind: 'attention',
      forwardSeconds: scores + values,
      // dP = dO·Vᵀ and dV = Pᵀ·dO have the shapes of the two; so have dQ and dK
      backwardSeconds: 2 * (scores + values),
      modules: CORE,
      explain: explainMatmul(
        inHalf(processor),
        { m: heads * s, n: s, k: headDim },
        { forward: scores + values, backward: 2 * (scores + values) },
        { times: 2 },
      ),
      source: 'measured matmul curve at the heads’ shapes (docs/KERNELS.md)',
    },
    {
      label: model.dropout ? 'Softmax and attention dropout' : 'Softmax',
      kind: 'attention',
      forwardSeconds: memoryTime(processor, heads * s * s * bytes.forward, numKernels),
      backwardSeconds: memoryTime(processor, heads * s * s * bytes.backward, numKernels),
      modules: CORE,
      explain: explainMoved(processor, {
        forward: { bytes: heads * s * s * bytes.forward, kernels: numKernels },
        backward: { bytes: heads * s * s * bytes.backward, kernels: numKernels },
      }),
      source: 'bytes of the s×s scores ÷ memory bandwidth (Korthikanti et al. 2022 §4.1; docs/MODEL.md §4.2)',
    },
  ];
}

/** One exchange between the ranks that share a sequence. */
function sequenceExchange(
  label: string,
  { group, bytes }: { group: Group; bytes: number },
  waited: { forward: number; backward: number },
  hidden: { forward: number; backward: number },
): Operator {
  return {
    label,
    kind: 'communication',
    group: 'cp',
    forwardSeconds: waited.forward,
    backwardSeconds: waited.backward,
    hiddenForwardSeconds: hidden.forward,
    hiddenBackwardSeconds: hidden.backward,
    explain: explainCollective(group, bytes, {
      forward: { waited: waited.forward, hidden: hidden.forward },
      backward: { waited: waited.backward, hidden: hidden.backward },
    }),
    source: 'measured collective curve (docs/KERNELS.md), volume and overlap docs/MODEL.md §5.3–5.4',
  };
}

/**
 * Keys and values that travel between the cp ranks, and what of it attention does not hide. Bytes per rank and pass
 * (MODEL §5.3; T tokens per rank, K/V width 2·k·dh):
 *   ring, all-gather   (c − 1)·T·2·2·k·dh forward; twice that backward (keys/values again, and their gradients)
 *   Ulysses            all-to-all of 2·T·(2a + 2k)·dh, each way
 * A ring's steps run beside the attention of the chunk before; all-gathers and all-to-alls are waited for. `hierarchical`
 * is Ulysses inside the scale-up domain and a ring between domains.
 */
function contextParallel(heads: CoreAttention, context: LayerContext, attention: Operator[]): Operator[] {
  const { cp, cpMethod, links, tokens } = context;
  if (cp === 1) return [];
  const group = context.groups.cp;
  const keysAndValues = 2 * 2 * heads.numKvHeads * heads.headDim * tokens;
  const everyHead = 2 * (2 * heads.numHeads + 2 * heads.numKvHeads) * heads.headDim * tokens;
  const hides = attention.reduce((sum, operator) => sum + operator.forwardSeconds, 0);
  const gather = (size: typeof group) => groupSeconds(links, 'allGather', size, keysAndValues * size.size);
  const exchange = (size: typeof group) => groupSeconds(links, 'allToAll', size, everyHead);
  const one = (label: string, forward: number, backward: number, hidden: { forward: number; backward: number }) =>
    sequenceExchange(label, { group, bytes: keysAndValues * group.size }, { forward, backward }, hidden);
  const ring = (size: typeof group) => {
    const total = gather(size);
    // the first chunk's keys are on the rank; each further step hides behind the attention of the one before
    const exposed = Math.max(total - hides, total / Math.max(1, size.size - 1) / 2);
    const exposedBackward = Math.max(2 * total - 2.5 * hides, total / Math.max(1, size.size - 1));
    return one('CP ring of keys and values', exposed, exposedBackward, {
      forward: total - exposed,
      backward: 2 * total - exposedBackward,
    });
  };
  const none = { forward: 0, backward: 0 };
  switch (cpMethod) {
    case 'ring':
      return [ring(group)];
    case 'all-gather':
      return [one('CP all-gather of keys and values', gather(group), 2 * gather(group), none)];
    case 'ulysses':
      return [one('CP all-to-alls (Ulysses)', exchange(group), exchange(group), none)];
    case 'hierarchical': {
      const { shard: inner, replica: outer } = splitGroup(links.domainSize, group, group.ranksPerDomain);
      const inside =
        inner.size > 1 ? [one('CP all-to-alls inside the domain', exchange(inner), exchange(inner), none)] : [];
      return outer.size > 1 ? [...inside, ring(outer)] : inside;
    }
  }
}

/** Unfused core attention on one of cp ranks does 1/cp of the work. */
function shareOf(operator: Operator, cp: number): Operator {
  return { ...operator, forwardSeconds: operator.forwardSeconds / cp, backwardSeconds: operator.backwardSeconds / cp };
}

/** Operators of core attention for one micro-batch on one rank. */
export function coreAttentionOperators(heads: CoreAttention, context: LayerContext): Operator[] {
  const attention =
    context.attentionKernel === 'unfused'
      ? unfused(heads, context).map((operator) => shareOf(operator, context.cp))
      : flash(heads, context);
  return [...attention, ...contextParallel(heads, context, attention)];
}

/**
 * Bytes per element kept of attention's output: one tensor serves flash attention's backward and the output projection's;
 * where the projection reads fewer bits, a copy stands beside it. Unfused attention does not read its output again.
 */
export function outputBytes({ plan, inputBytes }: TensorContext): number {
  if (plan.runtime.attentionKernel === 'unfused') return inputBytes;
  return inputBytes === 2 ? 2 : 2 + inputBytes;
}

/**
 * What core attention keeps beside Q, K, V and its output: unfused the scores (softmax 2as, with dropout its mask as and
 * its output 2as), flash the log-sum-exp of each row (4a).
 */
export function scoreTensors(numHeads: number, { model, plan, seqLen }: TensorContext): ActivationTensor[] {
  const isFlash = plan.runtime.attentionKernel !== 'unfused';
  return [
    {
      label: isFlash ? 'Log-sum-exp of the scores' : 'Scores',
      bytesPerToken: isFlash ? 4 * numHeads : (model.dropout ? 5 : 2) * numHeads * seqLen,
      modules: ['core-attention'],
      source: isFlash ? 'docs/MODEL.md §3.2' : 'Korthikanti et al. 2022 §4.1 (docs/MODEL.md §3.2)',
    },
  ];
}
