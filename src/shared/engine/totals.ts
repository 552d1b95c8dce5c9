/** What can be said of a scenario before any plan: counts, and bounds that no plan can beat. */
import type { Problem } from './problem.ts';
import { SECONDS_PER_DAY } from '../units.ts';
import { modelFlops } from './workload/flops.ts';
import type { Model } from '../schema/index.ts';
import { activeParameters, activeParametersByName, totalParameters } from './workload/parameters.ts';

export interface ProblemTotals {
  parameters: number;
  /** Parameters that one token passes through. */
  activeParameters: number;
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

export function problemTotals(problem: Problem): ProblemTotals {
  const { model, workload, network, device, price } = problem;
  const parameters = totalParameters(model);
  const tokensPerStep = workload.globalBatchSize * workload.seqLen;
  const modelFlopsPerStep = modelFlops(model, workload.seqLen, tokensPerStep);
  const peakFlopsPerSecond = network.numAccelerators * device.peakFlopsPerSecond;
  const bytesPerParameter =
    workload.weightBytesPerParameter + workload.gradientBytesPerParameter + workload.optimizerBytesPerParameter;
  const stateBytes = bytesPerParameter * parameters;
  const stepsInRun = workload.tokens === null ? null : workload.tokens / tokensPerStep;
  return {
    parameters,
    activeParameters: activeParameters(model),
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
  };
}
