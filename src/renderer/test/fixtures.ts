/** Small, complete values for tests. Nothing here is imported by the app. */
import type { AppEvent, ScenarioRecord, Transport } from '#shared/contract.ts';
import type { Reply, WireError } from '#shared/errors.ts';
import type { HeatCell, Plan, PlanSummary, Scenario, SearchResult } from '#shared/schema/index.ts';
import type { ChartTheme } from '../charts/theme.ts';

export function makePlan(change: Partial<Plan> = {}): Plan {
  return {
    ...{ tp: 8, pp: 4, cp: 1, ep: 1, etp: 1, dp: 2, vpp: 1, microBatchSize: 1, sequenceParallel: true },
    schedule: { name: '1f1b', groupSize: null },
    recompute: { mode: 'selective', modules: ['core-attention'], layersPerStage: null },
    sharding: { zeroStage: 1, group: 'dp', reshardAfterForward: true },
    cpMethod: 'ring',
    overlap: { tp: false, gradReduce: true, paramGather: true, pipeline: true, expert: false },
    offload: { optimizer: 0, weights: 0, activations: 0 },
    layout: null,
    rankOrder: 'tp-cp-ep-dp-pp',
    runtime: {
      fusedCrossEntropy: true,
      cudaGraphs: 'none',
      expertDispatcher: 'alltoall',
      expertCapacity: 'dropless',
      expertImbalance: 1.1,
      expandableSegments: false,
      fusedKernels: true,
      scatterGather: true,
      attentionKernel: 'flash',
    },
    ...change,
  };
}

export function makeSummary(key: string, change: Partial<PlanSummary> = {}): PlanSummary {
  return {
    key,
    plan: makePlan(),
    stepSeconds: 10,
    tokensPerSecondPerAccelerator: 400,
    mfu: 0.46,
    hfu: 0.48,
    bubbleFraction: 0.05,
    peakMemoryBytes: 64 * 2 ** 30,
    days: 31,
    cost: 4.1e6,
    verdict: 'fits',
    ...change,
  };
}

export function makeCell(tp: number, pp: number, change: Partial<HeatCell> = {}): HeatCell {
  return { tp, pp, best: null, leastMemoryBytes: null, plans: 0, ...change };
}

export function makeResult(change: Partial<SearchResult> = {}): SearchResult {
  return {
    best: [],
    frontier: [],
    heatMap: [],
    reference: null,
    whyEmpty: [],
    stats: { enumerated: 100, prunedByReason: {}, evaluated: 80, feasible: 0, seconds: 0.2, workers: 2 },
    engineVersion: '1',
    ...change,
  };
}

export function makeScenario(change: Partial<Scenario> = {}): Scenario {
  return {
    format: 'trainyard/scenario',
    version: 1,
    name: 'Test',
    notes: '',
    constraints: { headroomFraction: 0.08, pin: {}, exclude: {}, maxAccelerators: null, minMfu: null },
    objective: 'throughput',
    plan: null,
    results: null,
    model: {
      ...{ preset: null, name: 'M', family: 'llama', numLayers: 32, hiddenSize: 4096, ffnHiddenSize: 14336 },
      ...{ gatedFfn: true, numHeads: 32, numKvHeads: 8, headDim: 128, vocabSize: 128256, tiedEmbeddings: false },
      ...{ positions: 'rotary', maxPositions: null, normalization: 'rmsnorm', qkvBias: false, ffnBias: false },
      ...{
        slidingWindow: null,
        layerKinds: null,
        qkNorm: false,
        dropout: false,
        moe: null,
        mla: null,
        layerPattern: null,
        mtpLayers: 0,
        embeddingSize: null,
        embeddingNorm: false,
        headBias: false,
        otherParameters: 0,
        finalNorm: true,
        vision: null,
      },
    },
    cluster: {
      ...{ preset: null, accelerator: 'h100', numAccelerators: 64, acceleratorsPerNode: 8 },
      acceleratorOverrides: null,
      scaleUp: { domainSize: 8, kind: 'switched', bandwidthGBps: 450, linkGBps: null },
      scaleOut: {
        ...{ nicsPerAccelerator: 1, bandwidthGbps: 400, latencyUs: 5, oversubscription: 1 },
        ...{ inNetworkReduction: false, tiers: [] },
      },
      ...{ host: null, storage: null, price: null },
    },
    job: {
      ...{ kind: 'training', task: 'pretrain', lora: null, globalBatchSize: 512, seqLen: 8192, tokens: 1e12 },
      precision: { compute: 'bf16', weights: 'bf16', gradients: 'fp32', optimizer: 'adam-fp32' },
      framework: { family: 'megatron-lm', version: null, stack: null },
    },
    ...change,
  };
}

export function makeRecord(change: Partial<ScenarioRecord> = {}): ScenarioRecord {
  return {
    ...{ id: 'a', revision: 1, createdAt: '2026-01-01', updatedAt: '2026-01-01', exampleId: null },
    scenario: makeScenario(),
    ...change,
  };
}

export type Answer = (input: never) => unknown;
export class Refusal {
  readonly error: WireError;
  constructor(error: WireError) {
    this.error = error;
  }
}

/** A transport that answers from a table and keeps what it was asked. A `Refusal` becomes an error reply. */
export function makeTransport(answers: Record<string, Answer>) {
  const listeners = new Set<(event: AppEvent) => void>();
  const asked: { name: string; input: unknown }[] = [];
  const transport: Transport = {
    kind: 'direct',
    async request(name, input): Promise<Reply<unknown>> {
      asked.push({ name, input });
      const answer = answers[name];
      if (answer === undefined) return { ok: false, error: { code: 'bad-request', message: `no answer for ${name}` } };
      const value = await Promise.resolve(answer(input as never));
      return value instanceof Refusal ? { ok: false, error: value.error } : { ok: true, value };
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const emit = (event: AppEvent) => listeners.forEach((listener) => listener(event));
  const inputsOf = (name: string) => asked.filter((call) => call.name === name).map((call) => call.input);
  return { transport, emit, asked, inputsOf };
}

export const testTheme: ChartTheme = {
  ...{ text: '#111111', muted: '#666666', surface: '#ffffff', sunken: '#eeeeee', border: '#dddddd', grid: '#e0e0e0' },
  ...{ hatch: '#aaaaaa', accent: '#2244cc', ok: '#00aa66', warn: '#aa7700', danger: '#aa2211' },
  categories: ['#0072b2', '#56b4e9', '#009e73', '#e69f00', '#cc79a7', '#d55e00'],
  sequence: ['#e6effa', '#bcd6f0', '#86b5e2', '#4b8dce', '#2265ad', '#0d4080'],
  order: ['#440154', '#46327e', '#365c8d', '#277f8e', '#1fa187', '#5fbf4a'],
  font: 'sans-serif',
  isAnimated: true,
};
