import { describe, expect, test } from 'vitest';
import { completePlan, evaluatePlan, meteredBytes } from '../index.ts';
import { problemOf } from '../testing/problems.ts';
import { GIB, MIB } from '../../units.ts';
import type { PlanInput } from '../../schema/index.ts';
import { fullestStage, stageMemory, stageMemoryItems } from './index.ts';

type Choices = NonNullable<Parameters<typeof problemOf>[0]>;

function planned(choices: Choices, input: PlanInput) {
  const problem = problemOf(choices);
  return { problem, plan: completePlan(problem, input) };
}

/** GPT of Megatron-Core's tests: 12 layers of 512, 8 heads, GPT-2's vocabulary, dropout, 4 sequences of 1,024 tokens. */
const testModel: NonNullable<Choices['model']> = {
  family: 'gpt',
  numLayers: 12,
  hiddenSize: 512,
  ffnHiddenSize: 2048,
  gatedFfn: false,
  numHeads: 8,
  numKvHeads: 8,
  headDim: 64,
  vocabSize: 50_257,
  tiedEmbeddings: true,
  positions: 'learned',
  maxPositions: 1024,
  normalization: 'layernorm',
  qkvBias: true,
  ffnBias: true,
  dropout: true,
};

// max_allocated_bytes that Megatron-Core's tests recorded on H100 (tests/functional_tests, golden values, d98e8a6)
test.each([
  ['distributed optimizer, unfused attention, dp 8', { attentionKernel: 'unfused' }, 4484.6],
  ['the same with flash attention', { attentionKernel: 'flash' }, 2567.1],
] as const)('a recorded peak: %s', (_, runtime, mebibytes) => {
  const { problem, plan } = planned(
    { model: testModel, accelerator: 'h100-80gb-sxm', numAccelerators: 8, globalBatchSize: 32, seqLen: 1024 },
    { microBatchSize: 4, runtime: { ...runtime, fusedCrossEntropy: false } },
  );
  const { allocated } = meteredBytes(problem, plan, 0);
  expect(Math.abs(allocated / MIB / mebibytes - 1)).toBeLessThan(0.01);
});

// SimuMax docs/b200/b200_release_v1.2_summary.json: max_allocated of Llama 3 70B cut to 12 layers, sequences of 4,096
test.each([
  [2, 1, 4, 60.68],
  [4, 1, 2, 39.07],
  [8, 1, 1, 28.29],
])('a recorded peak: Llama 3 70B of 12 layers, tp %d pp %d dp %d', (tp, pp, dp, gibibytes) => {
  const llama = { numLayers: 12, hiddenSize: 8192, ffnHiddenSize: 28_672, numHeads: 64, numKvHeads: 8, headDim: 128 };
  const { problem, plan } = planned(
    {
      model: { ...llama, vocabSize: 128_256 },
      accelerator: 'b200-180gb-sxm',
      numAccelerators: 8,
      globalBatchSize: 4 * dp,
      seqLen: 4096,
    },
    { tp, pp, dp, microBatchSize: 1, runtime: { fusedCrossEntropy: true } },
  );
  const peak = Math.max(...Array.from({ length: pp }, (_, stage) => meteredBytes(problem, plan, stage).allocated));
  expect(Math.abs(peak / GIB / gibibytes - 1)).toBeLessThan(0.01);
});

describe('who counts what', () => {
  const { problem, plan } = planned({}, { tp: 2 });

  test('allocated ≤ reserved ≤ device, and the device counts all', () => {
    const { allocated, reserved } = meteredBytes(problem, plan, 0);
    expect(reserved).toBeGreaterThan(allocated);
    expect(stageMemory(problem, plan, 0).totalBytes).toBeGreaterThan(reserved);
  });

  test('expandable segments leave less unused', () => {
    const expandable = { ...plan, runtime: { ...plan.runtime, expandableSegments: true } };
    expect(meteredBytes(problem, expandable, 0).reserved).toBeLessThan(meteredBytes(problem, plan, 0).reserved);
    expect(meteredBytes(problem, expandable, 0).allocated).toBe(meteredBytes(problem, plan, 0).allocated);
  });
});

test.each(['gpipe', '1f1b', 'interleaved-1f1b', 'zb-v', 'dualpipe-v'] as const)(
  '%s: the fullest stage is the fullest of all',
  (name) => {
    const vpp = name === '1f1b' || name === 'gpipe' ? 1 : 2;
    const { problem, plan } = planned({}, { pp: 4, vpp, schedule: { name } });
    const all = Array.from({ length: 4 }, (_, stage) => stageMemory(problem, plan, stage).totalBytes);
    expect(fullestStage(problem, plan).totalBytes).toBe(Math.max(...all));
  },
);

test('the loss by kind: in place < unfused < compiled, and chunks less than all at once', () => {
  const lossBytes = (fusedCrossEntropy: boolean | 'compiled' | 'chunked') => {
    const choices = { model: { vocabSize: 256_000 }, seqLen: 16_384 };
    const { problem, plan } = planned(choices, { microBatchSize: 1, runtime: { fusedCrossEntropy } });
    const items = stageMemoryItems(problem, plan, 0);
    return items.find(({ label }) => /^(Logits|Gradients of the logits)/.test(label))?.bytes ?? Number.NaN;
  };
  expect(lossBytes(true)).toBeLessThan(lossBytes(false));
  expect(lossBytes(false)).toBeLessThan(lossBytes('compiled'));
  expect(lossBytes('chunked')).toBeLessThan(lossBytes(true));
});

test('a host that cannot hold what is offloaded is out of memory', () => {
  const offload = { offload: { optimizer: 1 } };
  const problem = problemOf({});
  const withHost = (memoryBytes: number) => ({ ...problem, host: { ...problem.host, memoryBytes } });
  expect(evaluatePlan(withHost(GIB), offload).verdict).toBe('out-of-memory');
  expect(evaluatePlan(withHost(1024 * GIB), offload).verdict).toBe('fits');
});
