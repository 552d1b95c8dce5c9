/** Problems to test with: small ones built from parts, and the ready examples. */
import type { Model, Scenario } from '../../schema/index.ts';
import { toProblem, type Problem } from '../index.ts';
import { acceleratorOf, calibration, exampleOf } from './catalog.ts';

/** A small Llama-style model; 8 layers and 8 heads divide well. */
export const smallModel: Model = {
  preset: null,
  name: 'small',
  family: 'llama',
  numLayers: 8,
  hiddenSize: 1024,
  ffnHiddenSize: 4096,
  gatedFfn: true,
  numHeads: 8,
  numKvHeads: 8,
  headDim: 128,
  vocabSize: 32_000,
  tiedEmbeddings: false,
  positions: 'rotary',
  maxPositions: null,
  normalization: 'rmsnorm',
  qkvBias: false,
  ffnBias: false,
  qkNorm: false,
  slidingWindow: null,
  dropout: false,
  moe: null,
  mla: null,
  layerKinds: null,
  layerPattern: null,
  mtpLayers: 0,
  embeddingSize: null,
  embeddingNorm: false,
  headBias: false,
  finalNorm: true,
  vision: null,
  otherParameters: 0,
};

/** What of a problem a test chooses; the rest is a node of A100s with a batch of 16 sequences of 1,024 tokens. */
export interface Choices {
  model?: Partial<Model>;
  accelerator?: string;
  numAccelerators?: number;
  scaleUp?: Partial<Scenario['cluster']['scaleUp']>;
  scaleOut?: Partial<Scenario['cluster']['scaleOut']>;
  acceleratorOverrides?: Scenario['cluster']['acceleratorOverrides'];
  acceleratorsPerNode?: number;
  price?: number | null;
  globalBatchSize?: number;
  seqLen?: number;
  tokens?: number | null;
  precision?: Partial<Scenario['job']['precision']>;
  version?: string | null;
  family?: Scenario['job']['framework']['family'];
  lora?: Scenario['job']['lora'];
  constraints?: Partial<Scenario['constraints']>;
  objective?: Scenario['objective'];
  plan?: Scenario['plan'];
}

function clusterOf(choices: Choices): Scenario['cluster'] {
  const { accelerator: id = 'a100-80gb-sxm', price = 2 } = choices;
  const accelerator = acceleratorOf(id);
  return {
    preset: null,
    accelerator: id,
    acceleratorOverrides: choices.acceleratorOverrides ?? null,
    numAccelerators: choices.numAccelerators ?? 8,
    acceleratorsPerNode: choices.acceleratorsPerNode ?? accelerator.acceleratorsPerNode,
    scaleUp: { ...accelerator.scaleUp, ...choices.scaleUp },
    scaleOut: {
      ...accelerator.scaleOut,
      latencyUs: 5,
      oversubscription: 1,
      inNetworkReduction: false,
      tiers: [],
      ...choices.scaleOut,
    },
    host: null,
    storage: null,
    price: price === null ? null : { currency: 'USD', perAcceleratorHour: price, source: 'test', date: null },
  };
}

export function scenarioOf(choices: Choices): Scenario {
  return {
    format: 'trainyard/scenario',
    version: 1,
    name: 'test',
    notes: '',
    model: { ...smallModel, ...choices.model },
    cluster: clusterOf(choices),
    job: {
      kind: 'training',
      task: choices.lora == null ? 'pretrain' : 'lora',
      lora: choices.lora ?? null,
      globalBatchSize: choices.globalBatchSize ?? 16,
      seqLen: choices.seqLen ?? 1024,
      tokens: choices.tokens === undefined ? 1e9 : choices.tokens,
      precision: {
        compute: 'bf16',
        weights: 'bf16',
        gradients: 'fp32',
        optimizer: 'adam-fp32',
        ...choices.precision,
      },
      framework: { family: choices.family ?? 'megatron-lm', version: choices.version ?? null, stack: null },
    },
    constraints: {
      headroomFraction: 0.08,
      pin: {},
      exclude: {},
      maxAccelerators: null,
      minMfu: null,
      ...choices.constraints,
    },
    objective: choices.objective ?? 'throughput',
    plan: choices.plan ?? null,
    results: null,
  };
}

export function problemOf(choices: Choices = {}): Problem {
  const scenario = scenarioOf(choices);
  return toProblem(scenario, acceleratorOf(scenario.cluster.accelerator), calibration);
}

export function exampleProblem(id: string): Problem {
  const scenario = exampleOf(id);
  return toProblem(scenario, acceleratorOf(scenario.cluster.accelerator), calibration, 'published split');
}
