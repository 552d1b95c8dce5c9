/**
 * How an item of memory comes about. The engine keeps items as bytes with a label and a source; here each is retold as a
 * formula. A formula is shown only if it gives the item's bytes: one that has fallen behind the engine shows nothing.
 */
import { stackOf } from '../../../layer-stack.ts';
import type { Figure, FigureInput } from '../../../schema/index.ts';
import { tensorContext, type MemoryItem } from '../../memory/index.ts';
import { pipelineShape, scheduleOf } from '../../pipeline/schedules/index.ts';
import { splitOf } from '../../split.ts';
import { residentRanksOf, type RankContent } from '../../stages.ts';
import { layerTensors } from '../../workload/layer.ts';
import { paddedVocabSize } from '../../workload/parameters.ts';
import { rankWeights, type RankWeights } from '../../workload/trained.ts';
import { input, part, type FigureContext } from './types.ts';

const EXACT = 1e-9;
/** A token id is a 64-bit integer. */
const TOKEN_ID_BYTES = 8;
const isSame = (a: number, b: number): boolean => Math.abs(a - b) <= EXACT * Math.max(1, Math.abs(b));

/** A product of named numbers, over others. */
interface Told {
  formula: string;
  inputs: FigureInput[];
  bytes: number;
}

function told(above: readonly FigureInput[], below: readonly FigureInput[] = []): Told {
  const product = (of: readonly FigureInput[]) => of.reduce((value, { value: factor }) => value * factor, 1);
  const names = (of: readonly FigureInput[]) => of.map(({ label }) => label).join(' · ');
  const under = below.length === 0 ? '' : below.length === 1 ? ` ÷ ${names(below)}` : ` ÷ (${names(below)})`;
  return { formula: names(above) + under, inputs: [...above, ...below], bytes: product(above) / product(below) };
}

/** What of a stage the formulas need. */
interface Stage {
  context: FigureContext;
  rank: RankContent;
  weights: RankWeights;
  /** Tokens of a micro-batch on one rank. */
  tokens: number;
  inFlight: number;
}

function stageOf(context: FigureContext, stageIndex: number): Stage | null {
  const { problem, plan, estimate } = context;
  const rank = residentRanksOf(problem.model, plan)?.[stageIndex];
  if (rank === undefined) return null;
  return {
    context,
    rank,
    weights: rankWeights(problem.model, problem.workload.adapters, plan, rank),
    tokens: (problem.workload.seqLen / plan.cp) * plan.microBatchSize,
    inFlight: scheduleOf(plan).inFlight(pipelineShape(plan, estimate.numMicroBatches), stageIndex),
  };
}

/** Weights, gradients and optimizer states: bytes of a parameter, how many, and over how many ranks they are cut. */
function stateFormulas({ context: { problem, plan }, weights }: Stage, category: MemoryItem['category']): Told[] {
  const { workload } = problem;
  const split = splitOf(plan);
  const bytesOf = {
    weights: workload.weightBytesPerParameter,
    gradients: workload.gradientBytesPerParameter,
    optimizer: workload.optimizerBytesPerParameter,
  };
  if (category !== 'weights' && category !== 'gradients' && category !== 'optimizer') return [];
  const offloaded = { weights: plan.offload.weights, gradients: 0, optimizer: plan.offload.optimizer }[category];
  const share = offloaded === 0 ? [] : [input('share on the device', 1 - offloaded, 'fraction')];
  const each = input('bytes of a parameter', bytesOf[category], 'B');
  const { trained, frozen } = weights;
  const ranks = 'ranks that share them';
  const sets = [
    { of: input('parameters on the rank', trained.dense), shards: split.denseShards, ranks },
    { of: input('expert parameters on the rank', trained.experts), shards: split.expertShards, ranks },
    { of: input('frozen parameters on the rank', frozen.dense + frozen.experts), shards: split.denseShards, ranks },
  ];
  return sets.flatMap(({ of, shards, ranks }) => [
    told([each, of, ...share]),
    told([each, of, ...share], [input(ranks, shards)]),
  ]);
}

/** Small tensors at the ends of a stage and between stages. */
function bufferFormulas(stage: Stage): Told[] {
  const { tokens, inFlight } = stage;
  const { problem, plan } = stage.context;
  const { hiddenSize } = problem.model;
  const sp = plan.sequenceParallel && plan.tp > 1 ? [input('tp', plan.tp)] : [];
  const token = input('tokens of a micro-batch', tokens);
  const hidden = input('hidden size', hiddenSize);
  const vocabulary = input('padded vocabulary', paddedVocabSize(problem.model, plan.tp));
  const states = [1, 2, 4, 8].flatMap((bytes) => [
    told([input('bytes of an element', bytes, 'B'), token, hidden], sp),
    told([input('bytes of an element', bytes, 'B'), token, hidden]),
    told([input('bytes of an element', bytes, 'B'), token, hidden, input('micro-batches in flight', inFlight)], sp),
  ]);
  const logits = [2, 4, 6, 10].map((bytes) =>
    told([input('bytes of a logit', bytes, 'B'), token, vocabulary], [input('tp', plan.tp)]),
  );
  return [...states, ...logits, embeddingOutput(stage)];
}

/** Token ids of 8 bytes and the embedding's output, with the mask of its dropout. */
function embeddingOutput({ context: { problem, plan }, tokens, inFlight }: Stage): Told {
  const { hiddenSize, dropout } = problem.model;
  const element = dropout ? 3 : 2;
  const ranks = plan.sequenceParallel ? plan.tp : 1;
  return {
    formula:
      'micro-batches in flight · tokens of a micro-batch · (bytes of a token id + bytes of an element · hidden size ÷ ranks that cut the sequence)',
    inputs: [
      input('micro-batches in flight', inFlight),
      input('tokens of a micro-batch', tokens),
      input('bytes of a token id', TOKEN_ID_BYTES, 'B'),
      input('bytes of an element', element, 'B'),
      input('hidden size', hiddenSize),
      input('ranks that cut the sequence', ranks),
    ],
    bytes: inFlight * tokens * (TOKEN_ID_BYTES + (element * hiddenSize) / ranks),
  };
}

/** The tensors that the layers of one kind keep, as parts of their item. */
function tensorParts({ context, rank, tokens, inFlight }: Stage, item: MemoryItem): Figure[] {
  const { problem, plan } = context;
  const { model } = problem;
  const { mode, modules } = plan.recompute;
  const { kinds, order } = stackOf(model);
  const onDevice = 1 - plan.offload.activations;
  for (const [index, kind] of kinds.entries()) {
    const count = (rank.counts[index] ?? 0) + (index === (order.at(-1) ?? 0) ? rank.mtpLayers : 0);
    if (count === 0) continue;
    const all = layerTensors(kind, tensorContext(problem, plan));
    const kept = all.filter((one) => !(mode === 'selective' && one.modules.some((module) => modules.includes(module))));
    const shard = plan.sequenceParallel ? plan.tp : 1;
    const tensors =
      mode === 'full'
        ? [{ label: 'Input of the layer', bytesPerToken: (2 * model.hiddenSize) / shard, source: 'docs/MODEL.md §3.3' }]
        : kept;
    const parts = tensors.map(({ label, bytesPerToken, source }) => {
      const { formula, inputs, bytes } = told([
        input('micro-batches in flight', inFlight),
        input('layers', count),
        input('tokens of a micro-batch', tokens),
        input('bytes of a token', bytesPerToken, 'B'),
        ...(onDevice === 1 ? [] : [input('share on the device', onDevice, 'fraction')]),
      ]);
      return part({ label, value: bytes, unit: 'B', formula, inputs, source });
    });
    if (
      isSame(
        parts.reduce((sum, { value }) => sum + (value ?? 0), 0),
        item.bytes,
      )
    )
      return parts.filter(({ value }) => value !== 0);
  }
  return [];
}

/** The items of one stage as figures, each with its formula or its parts. */
export function itemFigures(context: FigureContext, stageIndex: number, items: readonly MemoryItem[]): Figure[] {
  const stage = stageOf(context, stageIndex);
  return items.map((item) => {
    const { label, bytes, source, category } = item;
    const plain = part({ label, value: bytes, unit: 'B', source });
    if (stage === null) return plain;
    const children = category === 'activations' ? tensorParts(stage, item) : [];
    if (children.length > 0) return { ...plain, children };
    const formulas = [...stateFormulas(stage, category), ...bufferFormulas(stage)];
    const found = formulas.find((one) => isSame(one.bytes, bytes));
    return found === undefined ? plain : { ...plain, formula: found.formula, inputs: found.inputs };
  });
}
