/**
 * The two ends of the model: embedding on the first stage, final norm, head and loss on the last, for one micro-batch on
 * one rank. Legend: T tokens, V padded vocabulary, t = tp. Source: MODEL §3.5, §4.3–4.4, §5.3.
 */
import { inHalf, memoryTime } from '../compute.ts';
import { groupSeconds } from '../network/index.ts';
import { explainCollective, explainMoved } from './explanation.ts';
import type { MatmulShape } from '../kernels/index.ts';
import { matmul, type LayerContext, type Operator } from './operators.ts';
import { paddedVocabSize } from './parameters.ts';

function communication(
  label: string,
  { tp }: LayerContext['groups'],
  bytes: number,
  { forward: forwardSeconds, backward: backwardSeconds }: { forward: number; backward: number },
): Operator {
  const source = 'measured collective curve (docs/KERNELS.md), volume docs/MODEL.md §5.3';
  const explain = explainCollective(tp, bytes, {
    forward: { waited: forwardSeconds, hidden: 0 },
    backward: { waited: backwardSeconds, hidden: 0 },
  });
  return { label, kind: 'communication', forwardSeconds, backwardSeconds, source, explain };
}

/** What leads from embeddings of another width to the hidden size, or back; whole on every rank. */
function embeddingProjection(label: string, context: LayerContext, shape: MatmulShape): Operator[] {
  const isNeeded = (context.model.embeddingSize ?? context.model.hiddenSize) !== context.model.hiddenSize;
  return isNeeded ? [matmul(label, context, shape)] : [];
}

/** Operators of the embedding: look-up, learned positions and dropout, and its all-reduce over tp. */
export function embeddingOperators(context: LayerContext): Operator[] {
  const { model, processor, links, tp } = context;
  const { tokens } = context;
  const h = model.hiddenSize;
  // a frozen table needs no gradient
  const isTrained = context.adapters === null;
  const extra = (model.positions === 'learned' ? 4 : 0) + (model.dropout ? 5 : 0);
  const operators: Operator[] = [
    {
      label: 'Embedding',
      kind: 'elementwise',
      forwardSeconds: memoryTime(processor, (4 + extra) * h * tokens, 2),
      backwardSeconds: isTrained ? memoryTime(processor, (6 + extra) * h * tokens, 2) : 0,
      explain: explainMoved(processor, {
        forward: { bytes: (4 + extra) * h * tokens, kernels: 2 },
        backward: isTrained ? { bytes: (6 + extra) * h * tokens, kernels: 2 } : { bytes: 0, kernels: 0 },
      }),
      source: 'bytes ÷ memory bandwidth (docs/MODEL.md §4.3)',
    },
  ];
  const projection = { m: tokens, n: h, k: model.embeddingSize ?? h };
  operators.push(...embeddingProjection('Projection to the hidden size', context, projection));
  if (tp > 1) {
    const group = context.groups.tp;
    const bytes = 2 * tokens * h;
    const forward = groupSeconds(links, context.sequenceParallel ? 'reduceScatter' : 'allReduce', group, bytes);
    // every rank needs the gradient of the whole sequence for its part of the vocabulary
    const backward = context.sequenceParallel && isTrained ? groupSeconds(links, 'allGather', group, bytes) : 0;
    operators.push(communication('Embedding collectives over TP', context.groups, bytes, { forward, backward }));
  }
  return operators;
}

/** Operators of the final norm, the vocabulary-parallel head and the cross-entropy. */
export function headOperators(context: LayerContext): Operator[] {
  const { model, processor, links, tp } = context;
  const { tokens } = context;
  const h = model.hiddenSize;
  const vocabulary = paddedVocabSize(model, tp) / tp;
  const width = model.embeddingSize ?? h;
  const operators: Operator[] = [
    matmul('Output head', { ...context, processor: inHalf(processor) }, { m: tokens, n: vocabulary, k: width }),
    {
      label: 'Final norm and cross-entropy',
      kind: 'elementwise',
      // logits to fp32 (2+4), maximum, exponential and sum, target (3 × 4); backward scales the saved softmax (4+2)
      forwardSeconds: memoryTime(processor, tokens * (18 * vocabulary + 4 * h), 5),
      backwardSeconds: memoryTime(processor, tokens * (6 * vocabulary + 8 * h), 2),
      explain: explainMoved(processor, {
        forward: { bytes: tokens * (18 * vocabulary + 4 * h), kernels: 5 },
        backward: { bytes: tokens * (6 * vocabulary + 8 * h), kernels: 2 },
      }),
      source: 'bytes ÷ memory bandwidth (docs/MODEL.md §4.3)',
    },
  ];
  operators.push(...embeddingProjection('Projection to the width of the head', context, { m: tokens, n: width, k: h }));
  if (tp > 1) {
    const group = context.groups.tp;
    const hidden = groupSeconds(links, context.sequenceParallel ? 'reduceScatter' : 'allReduce', group, 2 * tokens * h);
    const gather = context.sequenceParallel ? groupSeconds(links, 'allGather', group, 2 * tokens * h) : 0;
    const loss = 3 * groupSeconds(links, 'allReduce', group, 4 * tokens);
    operators.push(
      communication('Head collectives over TP', context.groups, 2 * tokens * h, {
        forward: gather + loss,
        backward: hidden,
      }),
    );
  }
  return operators;
}
