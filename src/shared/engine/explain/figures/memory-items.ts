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

interface Tensor {
  label: string;
  bytesPerToken: number;
  source: string;
}

/** Tensors of so many layers and micro-batches as parts of an item; empty where they do not add up to it. */
function partsOf(stage: Stage, item: MemoryItem, tensors: readonly Tensor[], times: readonly FigureInput[]): Figure[] {
  const parts = tensors.map(({ label, bytesPerToken, source }) => {
    const factors = [
      ...times,
      input('tokens of a micro-batch', stage.tokens),
      input('bytes of a token', bytesPerToken, 'B'),
    ];
    const { formula, inputs, bytes } = told(factors);
    return { figure: part({ label, value: bytes, unit: 'B', formula, inputs, source }), bytes };
  });
  const sum = parts.reduce((total, { bytes }) => total + bytes, 0);
  return isSame(sum, item.bytes) ? parts.filter(({ bytes }) => bytes !== 0).map(({ figure }) => figure) : [];
}

/** The tensors that the layers of one kind keep, or that one layer holds while it is recomputed, as parts of their item. */
function tensorParts(stage: Stage, item: MemoryItem): Figure[] {
  const { context, rank, inFlight } = stage;
  const { problem, plan } = context;
  const { model } = problem;
  const { kinds, order } = stackOf(model);
  const onDevice = 1 - plan.offload.activations;
  const boundary = (2 * model.hiddenSize) / (plan.sequenceParallel ? plan.tp : 1);
  for (const [index, kind] of kinds.entries()) {
    const count = (rank.counts[index] ?? 0) + (index === (order.at(-1) ?? 0) ? rank.mtpLayers : 0);
    if (count === 0) continue;
    const all = layerTensors(kind, tensorContext(problem, plan));
    const { mode, modules } = plan.recompute;
    const isDropped = (one: (typeof all)[number]) =>
      mode === 'selective' && one.modules.some((module) => modules.includes(module));
    const kept =
      mode === 'full'
        ? [{ label: 'Input of the layer', bytesPerToken: boundary, source: 'docs/MODEL.md §3.3' }]
        : all.filter((one) => !isDropped(one));
    const again = mode === 'full' ? all : all.filter(isDropped);
    const times = [
      input('micro-batches in flight', inFlight),
      input('layers', count),
      ...(onDevice === 1 ? [] : [input('share on the device', onDevice, 'fraction')]),
    ];
    const found = item.category === 'activations' ? partsOf(stage, item, kept, times) : partsOf(stage, item, again, []);
    if (found.length > 0) return found;
  }
  return [];
}

/** What the allocator loses between its blocks, and what the process holds beside it. */
function poolFormulas({ bytes, seenBy }: MemoryItem, all: readonly MemoryItem[]): Told[] {
  if (seenBy === 'device') return [told([input('constant, measured', bytes, 'B')])];
  const allocated = all.reduce((sum, one) => (one.seenBy === undefined ? sum + one.bytes : sum), 0);
  if (seenBy !== 'reserved' || allocated === 0) return [];
  return [
    told([input('share lost between blocks', bytes / allocated, 'fraction'), input('allocated', allocated, 'B')]),
  ];
}

/** The items of one stage as figures, each with its formula or its parts. */
export function itemFigures(
  context: FigureContext,
  stageIndex: number,
  items: { own: readonly MemoryItem[]; all: readonly MemoryItem[] },
): Figure[] {
  const stage = stageOf(context, stageIndex);
  return items.own.map((item) => {
    const { label, bytes, source, category } = item;
    const plain = part({ label, value: bytes, unit: 'B', source });
    if (stage === null) return plain;
    const children = tensorParts(stage, item);
    if (children.length > 0) return { ...plain, children };
    const formulas = [...stateFormulas(stage, category), ...bufferFormulas(stage), ...poolFormulas(item, items.all)];
    const found = formulas.find((one) => isSame(one.bytes, bytes));
    return found === undefined ? plain : { ...plain, formula: found.formula, inputs: found.inputs };
  });
}
