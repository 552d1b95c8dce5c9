/** What can be said of a scenario before any plan: counts, and bounds that no plan can beat. */
import type { Problem } from './problem.ts';
import { SECONDS_PER_DAY } from '../units.ts';
import { stackOf } from '../layer-stack.ts';
import { chinchillaTokens } from './planning/scaling-laws.ts';
import { modelFlops } from './workload/flops.ts';
import { partWords } from './workload/parts/index.ts';
import type { Model } from '../schema/index.ts';
import { activeParameters, activeParametersByName, kindParameters, totalParameters } from './workload/parameters.ts';
import { trainedParameters } from './workload/trained.ts';

/** One kind of layer of a model, and how many of them there are. */
export interface LayerKindTotals {
  name: string;
  /** What mixes tokens, and what follows it, in plain words; `none` where the layer has no such part. */
  mixer: string;
  ffn: string;
  count: number;
  /** Parameters of one layer, and those of them that one token passes. */
  parameters: number;
  activeParameters: number;
}

/** The layers in order, as indices of their kinds. */
export interface LayerTotals {
  kinds: LayerKindTotals[];
  order: number[];
  mtpLayers: number;
}

export interface ProblemTotals {
  parameters: number;
  /** Parameters that one token passes through. */
  activeParameters: number;
  /** Parameters that the optimizer updates. */
  trainedParameters: number;
  modelFlopsPerStep: number;
  tokensPerStep: number;
  /** null where the job states no tokens. */
  stepsInRun: number | null;
  /** FLOP/s of all accelerators at their dense peak. */
  peakFlopsPerSecond: number;
  /** Weights, gradients and optimizer states of the whole model, bytes, before sharding. */
  stateBytes: number;
  usableMemoryBytes: number;
  /** Least number of accelerators whose usable memory holds those states. */
  leastAccelerators: number;
  /** The whole run at 100 % of peak; no plan can be faster. */
  daysAtPeak: number | null;
  costPerHour: number | null;
  currency: string | null;
  layers: LayerTotals;
  /** Tokens of the run ÷ active parameters; null where the job states no tokens. */
  tokensPerParameter: number | null;
  /** Tokens at which a model of so many active parameters is the best use of its FLOPs (docs/MODEL.md §7.1). */
  computeOptimalTokens: number;
  /** What was taken for lack of a measurement or a published figure. */
  assumed: string[];
}

/** Parameter counts of a model: all, those that one token passes, and those as tables count that go by tensor names. */
export function parameterCounts(
  model: Model,
  sharedCountAsRouted = false,
): { total: number; active: number; activeByName: number } {
  return {
    total: totalParameters(model),
    active: activeParameters(model),
    activeByName: activeParametersByName(model, sharedCountAsRouted),
  };
}

function layerTotals(model: Model): LayerTotals {
  const { kinds, names, order } = stackOf(model);
  const parameters = kindParameters(model);
  return {
    kinds: kinds.map((kind, index) => {
      const { sharded = 0, replicated = 0, routed = 0, activeRouted = 0 } = parameters[index] ?? {};
      const count = order.filter((one) => one === index).length;
      const always = sharded + replicated;
      const words = partWords(kind);
      return {
        name: names[index] ?? '',
        ...words,
        count,
        parameters: always + routed,
        activeParameters: always + activeRouted,
      };
    }),
    order: [...order],
    mtpLayers: model.mtpLayers,
  };
}

export function problemTotals(problem: Problem): ProblemTotals {
  const { model, workload, network, device, price } = problem;
  const parameters = totalParameters(model);
  const active = activeParameters(model);
  const tokensPerStep = workload.globalBatchSize * workload.seqLen;
  const modelFlopsPerStep = modelFlops(model, workload.seqLen, tokensPerStep, workload.adapters);
  const peakFlopsPerSecond = network.numAccelerators * device.peakFlopsPerSecond;
  const bytesPerParameter =
    workload.weightBytesPerParameter + workload.gradientBytesPerParameter + workload.optimizerBytesPerParameter;
  const trained = trainedParameters(model, workload.adapters);
  const frozen = workload.adapters === null ? parameters - trained : parameters;
  const stateBytes = bytesPerParameter * trained + workload.weightBytesPerParameter * frozen;
  const stepsInRun = workload.tokens === null ? null : workload.tokens / tokensPerStep;
  return {
    parameters,
    activeParameters: active,
    trainedParameters: trained,
    modelFlopsPerStep,
    tokensPerStep,
    stepsInRun,
    peakFlopsPerSecond,
    stateBytes,
    usableMemoryBytes: device.usableMemoryBytes,
    leastAccelerators: Math.ceil(stateBytes / device.usableMemoryBytes),
    daysAtPeak: stepsInRun === null ? null : (stepsInRun * modelFlopsPerStep) / peakFlopsPerSecond / SECONDS_PER_DAY,
    costPerHour: price === null ? null : price.perAcceleratorHour * network.numAccelerators,
    currency: price?.currency ?? null,
    layers: layerTotals(model),
    tokensPerParameter: workload.tokens === null ? null : workload.tokens / active,
    computeOptimalTokens: chinchillaTokens(active).tokens,
    assumed: problem.assumed,
  };
}
