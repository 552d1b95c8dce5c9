import { describe, expect, test } from 'vitest';
import { completePlan, evaluatePlan } from '../index.ts';
import { problemOf, type Choices } from '../testing/problems.ts';
import { GIB } from '../../units.ts';
import type { MemoryMomentId, PlanInput } from '../../schema/index.ts';
import { rankParameters } from '../workload/parameters.ts';
import { residentRanksOf } from '../stages.ts';
import { fullestStage, memoryMoments, stageMemoryItems } from './index.ts';

function planned(choices: Choices, input: PlanInput) {
  const problem = problemOf(choices);
  const plan = completePlan(problem, input);
  const rank = residentRanksOf(problem.model, plan)?.[0];
  if (rank === undefined) throw new Error('no such plan');
  const held = rankParameters(problem.model, plan, rank);
  return { problem, plan, parameters: held.dense + held.experts };
}

function momentOf({ problem, plan }: Pick<ReturnType<typeof planned>, 'problem' | 'plan'>, id: MemoryMomentId) {
  const moment = memoryMoments(problem, plan).find((one) => one.id === id);
  if (moment === undefined) throw new Error(`no moment ${id}`);
  const bytesOf = (label: RegExp) =>
    moment.parts.filter((part) => label.test(part.label)).reduce((sum, { bytes }) => sum + bytes, 0);
  return { moment, bytesOf };
}

describe('start-up', () => {
  test('Megatron-LM lays weights out in one buffer beside the gradients’: twice the weights', () => {
    const one = planned({}, { dp: 8, sharding: { zeroStage: 1 } });
    const { bytesOf } = momentOf(one, 'loading');
    expect(bytesOf(/^Weights as they are built/)).toBe(2 * one.parameters);
    expect(bytesOf(/copied into one buffer/)).toBe(2 * one.parameters);
    expect(bytesOf(/Buffer of the gradients/)).toBe(4 * one.parameters);
  });

  test.each<[string, Choices, PlanInput]>([
    ['without a sharded optimizer', {}, { dp: 8, sharding: { zeroStage: 0 } }],
    ['before 2023', { version: '2022' }, { dp: 8, sharding: { zeroStage: 1 } }],
    ['FSDP builds shards', { family: 'fsdp' }, { dp: 8 }],
  ])('no second copy: %s', (_, choices, input) => {
    expect(momentOf(planned(choices, input), 'loading').bytesOf(/copied into one buffer/)).toBe(0);
  });

  test('it is the peak where activations are small and the optimizer is spread widely', () => {
    const choices = {
      numAccelerators: 64,
      seqLen: 128,
      globalBatchSize: 64,
      model: { numLayers: 32, hiddenSize: 4096 },
    };
    const one = planned(choices, { dp: 64, microBatchSize: 1, recompute: { mode: 'full' } });
    const { moment } = momentOf(one, 'loading');
    const peak = fullestStage(one.problem, one.plan);
    expect(peak.totalBytes).toBeCloseTo(moment.bytes, 0);
    expect(stageMemoryItems(one.problem, one.plan, 0).map(({ label }) => label)).toContain(
      'Weights copied into one buffer',
    );
  });
});

describe('update', () => {
  test('states without activations; FSDP’s grouped Adam makes 4 bytes more of each parameter of the shard', () => {
    const one = planned({ family: 'fsdp', precision: { weights: 'fp32' } }, { dp: 8 });
    const { bytesOf, moment } = momentOf(one, 'update');
    expect(bytesOf(/grouped Adam/)).toBe((4 * one.parameters) / 8);
    expect(bytesOf(/^(Weights|Gradients|Adam)/)).toBe((16 * one.parameters) / 8);
    expect(moment.parts.filter(({ label }) => /in flight|Logits/.test(label))).toEqual([]);
  });

  test('Megatron-LM’s fp32 copies of 16-bit gradients are there at the update only', () => {
    const precision = { compute: 'fp16', weights: 'fp16', gradients: 'fp16' } as const;
    const one = planned({ precision }, { dp: 8, sharding: { zeroStage: 1 } });
    const [update, training] = [momentOf(one, 'update'), momentOf(one, 'training')];
    expect(update.bytesOf(/copies of the gradients/)).toBe((4 * one.parameters) / 8);
    expect(training.bytesOf(/^Adam/)).toBe((12 * one.parameters) / 8);
    expect(training.bytesOf(/copies of the gradients/)).toBe(0);
    expect(momentOf(one, 'saving').bytesOf(/copies of the gradients/)).toBe(0);
  });

  test('a GPT of 4 B parameters in fp16 on 8 stages peaks where sail-sg’s fork of Megatron-LM measured it', () => {
    // Yeung et al. 2024, Balancing Pipeline Parallelism with Vocabulary Parallelism, 1F1B baseline: 14.86 GiB at 32,000 rows
    // of vocabulary, 19.25 GiB at 128,000
    const peakOf = (vocabSize: number) => {
      const one = planned(
        {
          model: {
            family: 'gpt',
            numLayers: 32,
            hiddenSize: 3072,
            ffnHiddenSize: 12_288,
            gatedFfn: false,
            numHeads: 24,
            numKvHeads: 24,
            headDim: 128,
            vocabSize,
            positions: 'learned',
            maxPositions: 2048,
            normalization: 'layernorm',
            qkvBias: true,
            ffnBias: true,
            dropout: true,
          },
          seqLen: 2048,
          globalBatchSize: 128,
          precision: { compute: 'fp16', weights: 'fp16', gradients: 'fp16' },
        },
        { pp: 8, dp: 1, microBatchSize: 1, sharding: { zeroStage: 1 }, runtime: { fusedCrossEntropy: false } },
      );
      const items = stageMemoryItems(one.problem, one.plan, 0).filter(({ seenBy }) => seenBy === undefined);
      return items.reduce((sum, { bytes }) => sum + bytes, 0) / GIB;
    };
    expect(Math.abs(peakOf(32_000) / 14.86 - 1)).toBeLessThan(0.03);
    expect(Math.abs(peakOf(128_000) / 19.25 - 1)).toBeLessThan(0.03);
    expect(((peakOf(128_000) - peakOf(32_000)) * GIB) / (96_000 * 3072)).toBeCloseTo(16, 1);
  });

  test('DeepSpeed casts 16-bit gradients of its shard to fp32', () => {
    const precision = { compute: 'fp16', weights: 'fp16', gradients: 'fp16' } as const;
    const one = planned({ family: 'deepspeed', precision }, { dp: 8, sharding: { zeroStage: 2 } });
    expect(momentOf(one, 'update').bytesOf(/shard in fp32/)).toBe((4 * one.parameters) / 8);
  });
});

describe('a checkpoint', () => {
  test('stages each rank’s share on its host: weights and states over all data-parallel ranks', () => {
    const one = planned({}, { dp: 8, sharding: { zeroStage: 1 } });
    const { moment } = momentOf(one, 'saving');
    expect(moment.hostBytesPerNode).toBe(8 * ((14 * one.parameters) / 8));
    expect(momentOf(one, 'training').moment.hostBytesPerNode).toBe(0);
  });

  test('what lies on the host already is not staged again', () => {
    const offloaded = planned({}, { dp: 8, sharding: { zeroStage: 1 }, offload: { optimizer: 1 } });
    const { moment } = momentOf(offloaded, 'saving');
    const staged = moment.hostParts.find(({ label }) => label.startsWith('Staged'));
    expect(staged?.bytes).toBe(2 * offloaded.parameters);
  });

  test('a host without room for it is out of memory', () => {
    const problem = problemOf({});
    const withHost = (memoryBytes: number) => ({ ...problem, host: { ...problem.host, memoryBytes } });
    expect(evaluatePlan(withHost(GIB), { dp: 8 }).verdict).toBe('out-of-memory');
    expect(evaluatePlan(withHost(64 * GIB), { dp: 8 }).verdict).toBe('fits');
  });
});

test.each<[string, Choices, PlanInput]>([
  ['Megatron-LM, a pipeline', {}, { pp: 4, dp: 2 }],
  ['FSDP', { family: 'fsdp' }, { dp: 8 }],
  ['DeepSpeed', { family: 'deepspeed' }, { dp: 8, sharding: { zeroStage: 1 } }],
])('%s: the peak is the largest moment, and its parts add up', (_, choices, input) => {
  const { problem, plan } = planned(choices, input);
  const { estimate } = evaluatePlan(problem, plan);
  const moments = estimate?.memoryMoments ?? [];
  expect(moments.map(({ id }) => id)).toEqual(['loading', 'training', 'update', 'saving']);
  expect(Math.max(...moments.map(({ bytes }) => bytes))).toBeCloseTo(estimate?.peakMemoryBytes ?? Number.NaN, 0);
  for (const { bytes, parts } of moments)
    expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBeCloseTo(bytes, 0);
});

describe('FSDP', () => {
  const itemOf = (choices: Choices, input: PlanInput, label: RegExp) => {
    const { problem, plan } = planned(choices, input);
    const items = stageMemoryItems(problem, plan, 0);
    return items.filter((one) => label.test(one.label)).reduce((sum, { bytes }) => sum + bytes, 0);
  };

  test('a pipeline keeps whole gradients in fp32 until its last backward', () => {
    const choices: Choices = { family: 'fsdp' };
    const one = planned(choices, { pp: 2, dp: 4 });
    expect(itemOf(choices, { pp: 2, dp: 4 }, /summed over the micro-batches/)).toBe(4 * one.parameters);
    expect(itemOf(choices, { dp: 8 }, /summed over the micro-batches/)).toBe(0);
  });

  test('fp8 copies are made of the layers that are gathered, not of the whole model', () => {
    const choices: Choices = { family: 'fsdp', accelerator: 'h100-80gb-sxm', precision: { compute: 'fp8' } };
    const gathered = itemOf(choices, { dp: 8 }, /^Gathered weights/);
    expect(itemOf(choices, { dp: 8 }, /fp8 copies/)).toBe(gathered);
    const whole = planned(choices, { dp: 8, sharding: { zeroStage: 2 } });
    expect(itemOf(choices, { dp: 8, sharding: { zeroStage: 2 } }, /fp8 copies/)).toBe(2 * whole.parameters);
  });

  test('fp4 copies are 4 bits and a scale per 16 elements, by rows and by columns', () => {
    const choices: Choices = { accelerator: 'gb200-nvl72', precision: { compute: 'fp4' } };
    const { parameters } = planned(choices, { dp: 8 });
    expect(itemOf(choices, { dp: 8 }, /fp4 copies/)).toBe(1.125 * parameters);
  });

  test('rows are kept once more as the router’s scores weigh them', () => {
    const moe = { numExperts: 8, expertsPerToken: 2, expertFfnHiddenSize: 512 } as const;
    const model = {
      moe: { ...moe, sharedExpertFfnHiddenSize: 0, sharedExpertGate: false, denseFirst: 0, everyN: 1, router: null },
    };
    const kept = (family: 'fsdp' | 'megatron-lm') =>
      itemOf({ family, model }, { dp: 8, microBatchSize: 1 }, /in flight/);
    expect(kept('fsdp') - kept('megatron-lm')).toBe(8 * 1024 * 2 * 2 * 1024); // layers · tokens · 2 B · K · h
  });

  test('PyTorch’s own loss takes 12 bytes a logit, llm-foundry’s kernel 2', () => {
    const loss = (stack: 'llm-foundry' | null) => {
      const plain = problemOf({ family: 'fsdp', seqLen: 8192 });
      const problem = { ...plain, framework: { ...plain.framework, stack } };
      const items = stageMemoryItems(problem, completePlan(problem, { dp: 8, microBatchSize: 1 }), 0);
      return items.find(({ label }) => /ogits|Log-prob/.test(label))?.bytes;
    };
    expect(loss(null)).toBe(12 * 8192 * 32_000);
    expect(loss('llm-foundry')).toBe(2 * 8192 * 32_000 + 2 * 32_000 * 1024);
  });
});
