/**
 * The ends of the model: embedding output on the first stage; norm, head and loss on the last.
 *
 * Legend: T tokens of a micro-batch on the rank, h hidden, V padded vocabulary, t = tp. Bytes of the logits at the worst
 * moment of the loss, per logit:
 *   unfused    16-bit logits 2 and their fp32 copy 4, in which the softmax and its gradient are computed in place  6
 *   separate   PyTorch's own: the fp32 log-probabilities that are kept, their gradient and that of the logits      12
 *   compiled   as unfused with exponentials in a copy of their own, 4 more                                       10
 *   in place   the gradient takes the place of the 16-bit logits                                                   2
 *   chunked    as unfused, but of h/V of the tokens at a time
 * In backward the 16-bit gradient of the logits (2) meets the head's weight gradient (2·V·h/t) before that is added to
 * the accumulated one. The larger moment counts.
 * Source: MODEL §3.5; Megatron-LM tensor_parallel/cross_entropy.py, fusions/fused_cross_entropy.py and layers.py (weight
 * gradient of a linear layer); PyTorch nn/functional.py cross_entropy (log_softmax, then nll_loss) after torchtitan frees
 * the 16-bit logits (train.py); Transformer Engine cross_entropy.py; chunks as in Liger fused_linear_cross_entropy.py.
 */
import type { Plan } from '../../schema/index.ts';
import type { Problem } from '../problem.ts';
import { paddedVocabSize } from '../workload/parameters.ts';
import type { MemorySink, StageHolding } from './items.ts';

type Loss = 'unfused' | 'separate' | 'compiled' | 'inPlace' | 'chunked';
/** Bytes per logit that the loss needs at its worst moment. */
const LOSS_BYTES: Record<Loss, number> = { unfused: 6, separate: 12, compiled: 10, inPlace: 2, chunked: 6 };
/** What backward keeps of a head computed earlier (multi-token prediction): its softmax, or its 16-bit logits. */
const KEPT_LOSS_BYTES: Record<Loss, number> = { unfused: 4, separate: 4, compiled: 4, inPlace: 2, chunked: 0 };

const LOSS_LABELS: Record<Loss, string> = {
  unfused: 'Logits in 16-bit and fp32',
  separate: 'Log-probabilities and gradients of the logits in fp32',
  compiled: 'Logits in 16-bit and fp32, and their exponentials',
  inPlace: 'Logits, overwritten by their gradient',
  chunked: 'Logits of one chunk of tokens',
};

/** Stacks on JAX, whose compiler fuses the loss as Megatron's kernel does. */
const COMPILED_STACKS: ReadonlySet<string | null> = new Set(['maxtext', 'paxml']);

function lossOf({ framework }: Problem, { runtime: { fusedCrossEntropy: fused } }: Plan): Loss {
  if (typeof fused === 'string') return fused;
  if (fused) return 'inPlace';
  // Megatron-LM's vocabulary-parallel loss, which DeepSpeed's fork shares, works in one fp32 copy
  return framework.family === 'fsdp' && !COMPILED_STACKS.has(framework.stack) ? 'separate' : 'unfused';
}

const tokensOf = ({ workload }: Problem, { cp, microBatchSize }: Plan): number =>
  (workload.seqLen / cp) * microBatchSize;

/** Activations of the ends that are kept for backward. */
export function addEnds(into: MemorySink, { problem, plan, rank }: StageHolding): void {
  const { model } = problem;
  const tokens = tokensOf(problem, plan);
  const width = model.hiddenSize / (plan.sequenceParallel ? plan.tp : 1);
  if (rank.hasEmbedding) {
    const bytes = tokens * (8 + (2 + (model.dropout ? 1 : 0)) * width);
    into.addPerMicroBatch('activations', bytes, 'Token ids and embedding output', 'docs/MODEL.md §3.5');
  }
  if (rank.hasHead)
    into.add(
      'activations',
      4 * width * tokens,
      'Final norm and head inputs',
      'Korthikanti et al. 2022 §4.3 (docs/MODEL.md §3.5)',
    );
}

/** What computing the loss needs at once on the last stage, beyond what is kept anyway; nothing elsewhere. */
export function addLoss(into: MemorySink, { problem, plan, rank }: StageHolding): void {
  if (!rank.hasHead) return;
  const { model } = problem;
  const vocabulary = paddedVocabSize(model, plan.tp) / plan.tp;
  const tokens = tokensOf(problem, plan);
  const kind = lossOf(problem, plan);
  // chunks of so many tokens that their logits are no larger than the hidden states of all
  const atOnce = kind === 'chunked' ? Math.min(tokens, (tokens * model.hiddenSize) / model.vocabSize) : tokens;
  const logits = vocabulary * atOnce;
  const weightGradient = 2 * vocabulary * model.hiddenSize;
  const loss = LOSS_BYTES[kind] * logits;
  const backward = 2 * logits + weightGradient;
  const label = backward > loss ? 'Gradients of the logits and of the head' : LOSS_LABELS[kind];
  into.add('workspace', Math.max(loss, backward), label, 'docs/MODEL.md §3.5');
  if (rank.mtpLayers > 0) {
    const further = rank.mtpLayers * KEPT_LOSS_BYTES[kind] * logits;
    into.add('workspace', further, 'Losses of further predicted tokens', 'docs/MODEL.md §3.5');
  }
}
