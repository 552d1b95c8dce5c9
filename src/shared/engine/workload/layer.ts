/**
 * One layer: the operators and kept tensors of its parts, and of the norms and residual additions around them.
 * Legend: T tokens, h hidden, t = tp. Source: MODEL §3.2–3.4, §4.3.
 */
import type { LayerKind } from '../../schema/index.ts';
import { normBytes, residualBytes, timesElements } from './fusion.ts';
import { elementwise, matmul, type LayerContext, type Operator } from './operators.ts';
import { keepsInputs, layerAdapters } from './trained.ts';
import { numBlocks, partOperators, partTensors, type ActivationTensor, type TensorContext } from './parts/index.ts';

/** Norms, residual additions and dropout: on the whole sequence without sequence parallelism, on 1/t of it with. */
function normAndResidual(kind: LayerKind, context: LayerContext): Operator[] {
  const { model, processor } = context;
  const tokens = context.tokens / (context.sequenceParallel ? context.tp : 1);
  const h = model.hiddenSize;
  const blocks = kind.parallel ? 1 : numBlocks(kind);
  const { fusedKernels } = context;
  const norms = timesElements(normBytes(model, fusedKernels), kind.norms * h * tokens, kind.norms);
  const sums = timesElements(residualBytes(model, fusedKernels), blocks * h * tokens, blocks);
  const label = model.dropout ? 'Bias, dropout and residual' : 'Residual additions';
  return [elementwise('Norms', processor, norms, ['norms']), elementwise(label, processor, sums)];
}

/** Adapters of a layer: down to their rank and up again, beside the frozen maps. */
function adapterOperators(kind: LayerKind, context: LayerContext): Operator[] {
  const { adapters, model, tokens: m, tp } = context;
  if (adapters === null) return [];
  const { sharded, replicated, routed } = layerAdapters(kind, model, adapters);
  // of a token's experts K of E count; widths of all adapters of the layer together
  const experts = kind.ffn.type === 'moe' ? (routed * kind.ffn.expertsPerToken) / kind.ffn.numExperts : 0;
  const width = (sharded + experts) / adapters.rank / tp + replicated / adapters.rank;
  return [matmul('LoRA adapters', { ...context, adapters: null }, { m, n: Math.max(1, width), k: adapters.rank })];
}

/** All operators of one layer for one micro-batch on one rank. */
export function layerOperators(kind: LayerKind, context: LayerContext): Operator[] {
  return [...partOperators(kind, context), ...adapterOperators(kind, context), ...normAndResidual(kind, context)];
}

/**
 * Everything that one layer keeps from forward to backward, per token of the rank's micro-batch:
 *   norm inputs 2h each, block inputs 2h each (inputs of the first matmuls), dropout masks h each    ÷t with sequence parallelism
 *   and the tensors of its parts.
 */
export function layerTensors(kind: LayerKind, context: TensorContext): ActivationTensor[] {
  const { model, plan } = context;
  const mixer = { ...context, inputBytes: keepsInputs(context.adapters, 'mixer') ? context.inputBytes : 0 };
  const ffn = { ...context, inputBytes: keepsInputs(context.adapters, 'ffn') ? context.inputBytes : 0 };
  const share = model.hiddenSize / (plan.sequenceParallel ? plan.tp : 1);
  const blocks = numBlocks(kind);
  const inputs = (kind.mixer.type === 'none' ? 0 : mixer.inputBytes) + (kind.ffn.type === 'none' ? 0 : ffn.inputBytes);
  const source = 'docs/MODEL.md §3.2, §3.4';
  const tensors: ActivationTensor[] = [
    { label: 'Norm inputs', bytesPerToken: 2 * kind.norms * share, modules: [], source },
    { label: 'Inputs of the blocks', bytesPerToken: inputs * share, modules: ['norms'], source },
  ];
  if (model.dropout)
    tensors.push({
      label: 'Dropout masks of the residual branches',
      bytesPerToken: blocks * share,
      modules: [],
      source,
    });
  if (context.adapters === null) return [...tensors, ...partTensors(kind, context)];
  const parts = [
    ...partTensors({ ...kind, ffn: { type: 'none' } }, mixer),
    ...partTensors({ ...kind, mixer: { type: 'none' } }, ffn),
  ];
  return [...tensors, ...parts].filter(({ bytesPerToken }) => bytesPerToken > 0);
}
