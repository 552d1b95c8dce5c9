/** Cases copied from the reference collection (planner-cases/1, planner-golden/1); each row names where it was reported. */
import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import type { CasesReport } from '../services/cases/index.ts';
import { at, removeFiles, trainyard } from './testing.ts';

const row = (id: string, source: string, framework: string, rest: object) => ({
  id,
  source,
  framework,
  mode: 'pretrain',
  purpose: 'validity',
  model: null,
  hardware: 'unspecified',
  gpus: null,
  parallel: {},
  batch: {},
  precision: null,
  recompute: null,
  offload: null,
  confidence: 'framework_rule',
  ...rest,
});

const gpt22B = {
  kind: 'gpt_dense',
  num_hidden_layers: 48,
  hidden_size: 6144,
  num_attention_heads: 64,
  num_key_value_heads: 64,
  intermediate_size: 24_576,
  vocab_size: 51_200,
  seq_len: 2048,
  positions: 'learned',
  biases: true,
};
const mpt1B = {
  kind: 'gpt_dense',
  num_hidden_layers: 24,
  hidden_size: 2048,
  num_attention_heads: 16,
  num_key_value_heads: 16,
  intermediate_size: 8192,
  vocab_size: 50_368,
  seq_len: 2048,
  positions: 'learned',
};
const korthikanti = (id: string, sp: boolean, recompute: string, kind: string) =>
  row(id, 'arXiv:2205.05198 fig. 1', 'megatron-lm', {
    purpose: 'memory',
    model: 'kor-22B',
    hardware: 'A100-80',
    gpus: 8,
    parallel: { tp: 8, pp: 1, vpp: 1, cp: 1, ep: 1, dp: 1, zero: 0, sp },
    batch: { mbs: 4, gbs: 4, seq: 2048 },
    precision: 'fp16 mixed',
    recompute,
    outcome: { kind },
  });

const llama70BOn32 = (id: string, vpp: number, note: string | null, kind: string) =>
  row(id, 'NVIDIA-NeMo/Megatron-Bridge skills/mbridge-perf-memory-tuning', 'megatron-bridge', {
    mode: 'sft',
    purpose: 'memory',
    model: 'llama3-70b',
    hardware: 'H100-80',
    gpus: 32,
    parallel: { tp: 4, pp: 4, vpp, cp: 1, dp: 2, sp: true, zero: 1 },
    batch: { mbs: 1, gbs: 32, seq: 4096 },
    precision: 'fp8',
    recompute: 'none',
    note,
    outcome: { kind },
  });

const file = {
  schema: 'planner-cases/1',
  hardware: {
    'A100-80': { gpu: 'A100 SXM', mem_gb: 80, gpus_per_node: 8, dense_bf16_tflops: 312 },
    'H100-80': { gpu: 'H100 SXM', mem_gb: 80, gpus_per_node: 8 },
    unspecified: {},
  },
  models: { 'kor-22B': gpt22B, 'mpt-1b': mpt1B, 'llama3-70b': { hf_config: 'Meta-Llama-3.1-70B' } },
  cases: [
    korthikanti('kor-22B-mem-none', false, 'none', 'oom'),
    korthikanti('kor-22B-mem-seqsel', true, 'selective(core attention)', 'fits'),
    row('heads-52', 'vllm-project/vllm#2652', 'vllm', {
      parallel: { tp: 8 },
      model_overrides: { num_attention_heads: 52 },
      outcome: { kind: 'rejected', reason: '52 heads', valid_tp: [1, 2, 4, 13, 26, 52] },
    }),
    row('heads-25', 'openai-community/gpt2-xl', 'megatron-core', {
      parallel: { tp: 2 },
      model_overrides: { num_attention_heads: 25 },
      outcome: { kind: 'rejected', valid_tp: [1, 5, 25] },
    }),
    row('kv-2-core-016', 'modelscope/ms-swift#8219', 'megatron-core 0.16', {
      parallel: { tp: 8 },
      model_overrides: { num_key_value_heads: 2 },
      outcome: { kind: 'fits' },
    }),
    row('kv-2-core-015', 'modelscope/ms-swift#8219', 'megatron-core 0.15', {
      parallel: { tp: 8 },
      model_overrides: { num_key_value_heads: 2 },
      outcome: { kind: 'rejected' },
    }),
    row('layers-40-old', 'NVIDIA/Megatron-LM#1303', 'megatron-lm (old)', {
      parallel: { pp: 16 },
      model_overrides: { num_hidden_layers: 40 },
      outcome: { kind: 'silent_wrong' },
    }),
    row('vpp-12', 'NVIDIA-NeMo/Megatron-Bridge#5893', 'megatron-bridge', {
      parallel: { pp: 2, vpp: 12 },
      model_overrides: { num_hidden_layers: 40 },
      outcome: { kind: 'rejected', nearest: { vpp: 10 } },
    }),
    row('few-micro-batches', 'pytorch/torchtitan#775', 'torchtitan', {
      parallel: { pp: 4 },
      batch: { microbatches: 2 },
      outcome: { kind: 'hang' },
    }),
    row('batch-1000', 'Megatron-LM num_microbatches_calculator.py', 'megatron-core', {
      parallel: { dp: 24 },
      batch: { mbs: 1, gbs: 1000 },
      outcome: { kind: 'rejected', nearest: { gbs: [984, 1008] } },
    }),
    row('two-precisions', 'Megatron-LM arguments.py', 'megatron-core', {
      outcome: { kind: 'rejected', reason: 'fp8 and fp4 are mutually exclusive' },
    }),
    row('host', 'hiyouga/LLaMA-Factory#6755', 'deepspeed', {
      purpose: 'memory',
      gpus: 1,
      hardware: 'A100-80',
      parallel: { zero: 3, dp: 1 },
      offload: 'cpu',
      model_overrides: { nominal_params: 32.8e9 },
      outcome: { kind: 'host_oom', host_gb: 744 },
    }),
    row('start-up', 'deepspeedai/DeepSpeed#2899', 'deepspeed', {
      purpose: 'memory',
      gpus: 4,
      parallel: { zero: 3, dp: 4 },
      model_overrides: { nominal_params: 30e9 },
      outcome: { kind: 'oom', measured_gb: 55.8 },
    }),
    // interleaved, and the allocator's setting is not stated: ran out with 58.8 GB of tensors, ran with expandable segments
    llama70BOn32('gaps', 5, null, 'oom'),
    llama70BOn32('no-gaps', 5, 'expandable segments enabled', 'fits'),
    row('no-model', 'modelscope/ms-swift#8084', 'megatron-core', {
      mode: 'sft',
      purpose: 'memory',
      hardware: 'A100-80',
      gpus: 8,
      parallel: { tp: 4, ep: 8 },
      outcome: { kind: 'oom' },
    }),
    row('paged', 'pytorch/torchtune#987', 'torchtune', {
      mode: 'sft',
      purpose: 'memory',
      model: 'llama3-70b',
      hardware: 'A100-80',
      gpus: 8,
      parallel: { fsdp: 8 },
      offload: 'paged 8-bit AdamW',
      outcome: { kind: 'fits', measured_gb: 51 },
    }),
    // Composer's benchmarks: FSDP, no recomputation, flash-attn's cross-entropy
    row('mpt-1b', 'mosaicml/llm-foundry scripts/train/benchmarking/README.md', 'llm-foundry/composer (FSDP)', {
      purpose: 'throughput',
      model: 'mpt-1b',
      hardware: 'H100-80',
      gpus: 16,
      parallel: { fsdp: 16, dp: 16, zero: 3 },
      batch: { mbs: 20, gbs: 320, seq: 2048 },
      precision: 'amp_bf16',
      recompute: 'none',
      outcome: { kind: 'fits' },
    }),
    row('logits', 'arithmetic', 'megatron-core', {
      purpose: 'memory',
      gpus: 1,
      parallel: { tp: 1 },
      batch: { mbs: 1, seq: 8192 },
      model_overrides: { vocab_size: 151_936 },
      outcome: { kind: 'arithmetic', logits_fp32_gib: 4.638 },
    }),
  ],
};

const golden = {
  schema: 'planner-golden/1',
  cases: [
    {
      // NVIDIA/Megatron-LM@d98e8a6: tests/functional_tests/test_cases/gpt/gpt3_mcore_te_tp2_pp2 (H100)
      id: 'gpt3_mcore_tp1_pp2',
      framework: 'megatron-core dev',
      hardware: 'H100-SXM-80',
      gpus: 8,
      args: {
        '--hidden-size': 512,
        '--num-layers': 12,
        '--num-attention-heads': 8,
        '--seq-length': 1024,
        '--max-position-embeddings': 1024,
        '--micro-batch-size': 4,
        '--global-batch-size': 32,
        '--tensor-model-parallel-size': 1,
        '--pipeline-model-parallel-size': 2,
        '--transformer-impl': 'transformer_engine',
        '--bf16': true,
      },
      outcome: { kind: 'fits', max_allocated_bytes: null },
    },
  ],
};

writeFileSync(at('cases.json'), JSON.stringify(file));
writeFileSync(at('golden.json'), JSON.stringify(golden));
afterAll(removeFiles);

const reportOf = async (name: string) => (await trainyard(['cases', at(name), '--json'])).json() as CasesReport;

describe('cases', () => {
  test('judges each kind right, with its reason', async () => {
    const { rows, summary } = await reportOf('cases.json');
    expect(rows.filter(({ right }) => !right).map(({ id, predicted, reason }) => [id, predicted, reason])).toEqual([]);
    expect(summary).toMatchObject({ count: file.cases.length, right: file.cases.length });
    expect(summary.byKind.rejected).toEqual({ count: 6, right: 6 });
  });

  test.each<[string, string, RegExp]>([
    ['heads-52', 'rejected', /52 attention heads do not divide over tp = 8 .*1, 2, 4, 13, 26, 52/],
    ['kv-2-core-015', 'rejected', /copies heads to several ranks only from 0\.16 on/],
    ['layers-40-old', 'silent_wrong', /40 layers do not divide over pp = 16: 8 would be lost/],
    ['few-micro-batches', 'hang', /2 micro-batches are fewer than the pp = 4 stages/],
    ['batch-1000', 'rejected', /984 and 1008 do/],
    ['host', 'host_oom', /27 B × 32\.8 B parameters .* = 886 GB per node of 744 GB/],
    ['start-up', 'oom', /states alone need .* whole model before sharding it needs 55\.9 GiB/],
    ['gaps', 'depends', /gaps between blocks .* does not state the allocator’s setting/],
    ['no-gaps', 'fits', /GiB usable/],
    ['no-model', 'depends', /whether it fits hangs on its model/],
    ['paged', 'depends', /micro-batch/],
    ['mpt-1b', 'fits', /GiB usable/],
    ['logits', 'computed', /4\.637 GiB of fp32 logits/],
    ['kor-22B-mem-none', 'oom', /GiB too much/],
  ])('%s: %s', async (id, predicted, reason) => {
    const { rows } = await reportOf('cases.json');
    expect(rows.find((one) => one.id === id)).toMatchObject({
      predicted,
      reason: expect.stringMatching(reason) as string,
    });
  });

  test('prints a table and a sentence, and answers 0 where all are right', async () => {
    const { out, exitCode, err } = await trainyard(['cases', at('cases.json')], 100);
    expect([exitCode, err]).toEqual([0, '']);
    expect(out).toMatch(/19 of 19 cases judged right\.\nBy kind: .*rejected 6\/6/);
    expect(out).toMatch(/^heads-52 +rejected +rejected +yes/m);
  });

  test('reads Megatron-Core runs by their flags', async () => {
    const { rows } = await reportOf('golden.json');
    expect(rows[0]).toMatchObject({ predicted: 'fits', memory: { meter: 'allocated', measuredGiB: null } });
    expect(rows[0]?.assumed).toEqual(['vocabulary: 50257 (GPT-2 BPE)']);
  });

  test('a file that is none is refused with place and remedy', async () => {
    const { exitCode, err } = await trainyard(['cases', at('runs.json')]);
    expect(exitCode).toBe(2);
    expect(err).toMatch(/no file of cases[\s\S]*Give a JSON object with "cases"/);
  });
});
