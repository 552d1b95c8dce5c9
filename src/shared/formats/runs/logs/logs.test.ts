import { describe, expect, test } from 'vitest';
import { AppError } from '../../../errors.ts';
import { GIB, MIB } from '../../../units.ts';
import { dropWarmUp, formats, readTrainingLog, stepOfLog } from './index.ts';

/** Lines as the frameworks' sources print them, with made-up numbers. */
const megatronLine = (iteration: number, ms: number) =>
  ` [2025-03-01 10:00:00.000000] iteration ${String(iteration).padStart(8)}/     100 | consumed samples: ${String(iteration * 128).padStart(12)} | elapsed time per iteration (ms): ${ms.toFixed(1)} | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.000000E-04 | global batch size:   128 | lm loss: 7.1E+00 | loss scale: 1.0 |`;

test('Megatron-LM: milliseconds, its batch and its memory line; warm-up goes', () => {
  const lines = [9000, 4100, 2000, 2010, 1990, 2000, 2005, 1995].map((ms, index) => megatronLine(index + 1, ms));
  const memory =
    '[Rank 0] (after 2 iterations) memory (MB) | allocated: 1000.0 | max allocated: 40960.0 | reserved: 2000.0 | max reserved: 51200.0';
  expect(readTrainingLog([...lines, memory].join('\n'))).toMatchObject({
    framework: 'Megatron-LM',
    quantity: 'stepSeconds',
    median: 2,
    count: 6,
    warmUpDropped: 2,
    outliers: 0,
    globalBatchSize: 128,
    allocatedBytes: 40_960 * MIB,
    reservedBytes: 51_200 * MIB,
  });
});

test.each<[string, string, object]>([
  [
    'NeMo',
    'Training epoch 0, iteration 3/249 | lr: 1e-06 | global_batch_size: 8 | global_step: 3 | reduced_train_loss: 1.3 | train_step_timing in s: 2.505 | consumed_samples: 16',
    { quantity: 'stepSeconds', median: 2.505, globalBatchSize: 8 },
  ],
  [
    'its progress bar',
    'Epoch 0: : 100%|██████████| 100/100 [10:48<00:00, reduced_train_loss=0.0172, global_step=99.00, consumed_samples=25600.0, train_step_timing in s=3.130]',
    { framework: 'NeMo or Megatron-Bridge', median: 3.13 },
  ],
  [
    'Megatron-Bridge',
    'Step Time : 2.13s GPU utilization: 612.0MODEL_TFLOP/s/GPU',
    { framework: 'NeMo or Megatron-Bridge', median: 2.13 },
  ],
  [
    'torchtitan, in colours',
    '\u001B[31mstep: 10  \u001B[32mloss:  7.10000  \u001B[38;2;180;60;0mgrad_norm:  1.0  \u001B[36mmemory: 42.50GiB(53.10%)  \u001B[34mtps: 7,412  \u001B[36mtflops: 380.10  \u001B[35mmfu: 38.43%\u001B[39m',
    { framework: 'torchtitan', quantity: 'tokensPerSecondPerAccelerator', median: 7412, reservedBytes: 42.5 * GIB },
  ],
  [
    'DeepSpeed',
    '[2023-11-07 01:55:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=25.7, MemAllocated=4.32GB, MaxMemAllocated=38.5GB',
    { framework: 'DeepSpeed', quantity: 'samplesPerSecond', median: 25.7, allocatedBytes: 38.5 * GIB },
  ],
  [
    'its pipeline engine',
    'steps: 10 loss: 6.9000 iter time (s): 1.250 samples/sec: 51.200',
    { framework: 'DeepSpeed', quantity: 'stepSeconds', median: 1.25 },
  ],
  [
    'Composer',
    '[batch=40/100]:\n\t Train throughput/batches_per_sec: 0.5\n\t Train throughput/device/tokens_per_sec: 8000.5\n\t Train memory/peak_reserved_mem: 61.2',
    { framework: 'llm-foundry (Composer)', quantity: 'stepSeconds', median: 2, reservedBytes: 61.2e9 },
  ],
  [
    'the Trainer’s summary',
    "{'train_runtime': 800.0, 'train_samples_per_second': 3.2, 'train_steps_per_second': 0.1, 'epoch': 1.0}",
    { framework: 'Hugging Face Trainer', median: 10 },
  ],
  ['its bar', ' 12%|█▏        | 12/100 [00:30<03:40,  2.50s/it]', { framework: 'Hugging Face Trainer', median: 2.5 }],
])('%s', (_, text, expected) => {
  expect(readTrainingLog(text)).toMatchObject({ count: 1, ...expected });
});

test('a log that both Megatron and DeepSpeed wrote is read by its iteration times', () => {
  const deepspeed =
    '[INFO] [timer.py] epoch=0/micro_step=1/global_step=1, RunningAvgSamplesPerSec=58.7, CurrSamplesPerSec=61.3, MemAllocated=6.0GB, MaxMemAllocated=19.5GB';
  expect(readTrainingLog(`${deepspeed}\n${megatronLine(1, 2100)}`)).toMatchObject({
    framework: 'Megatron-LM',
    median: 2.1,
  });
});

test('an iteration that several ranks print counts once', () => {
  const lines = [1, 2, 3].flatMap((n) => [megatronLine(n, 2000), megatronLine(n, 2000)]);
  expect(readTrainingLog(lines.join('\r\n')).count).toBe(3);
});

test.each(['', 'epoch 1 loss 0.3\nall is well'])(
  'a log without a known line is refused by naming what is: "%s"',
  (text) => {
    let error: unknown;
    try {
      readTrainingLog(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe('wrong-format');
    for (const { framework } of formats) expect((error as AppError).remedy).toContain(framework);
  },
);

describe('dropWarmUp', () => {
  test('keeps a steady series whole', () => {
    expect(dropWarmUp([2, 2.01, 1.99, 2])).toEqual({ kept: [2, 2.01, 1.99, 2], dropped: 0, outliers: 0 });
  });
  test('a slow step in the middle is kept and counted', () => {
    const { kept, dropped, outliers } = dropWarmUp([30, 2, 2, 9, 2, 2, 2, 2]);
    expect({ size: kept.length, dropped, outliers }).toEqual({ size: 7, dropped: 1, outliers: 1 });
  });
  test('a rate warms up from below', () => {
    expect(dropWarmUp([10, 60, 100, 101, 99, 100]).dropped).toBe(2);
  });
  test('one value is what there is', () => {
    expect(dropWarmUp([5])).toEqual({ kept: [5], dropped: 0, outliers: 0 });
  });
});

test('a rate becomes the time of a step of the scenario', () => {
  const job = { globalBatchSize: 128, seqLen: 4096, numAccelerators: 64 };
  const log = readTrainingLog(megatronLine(1, 2000));
  const by = (quantity: typeof log.quantity, median: number) =>
    stepOfLog({ ...log, quantity, median }, job).stepSeconds;
  expect(stepOfLog(log, job)).toEqual({ stepSeconds: 2, differs: [] });
  expect(by('tokensPerSecondPerAccelerator', 4096)).toBe(2);
  expect(by('tokensPerSecond', 4096 * 64)).toBe(2);
  expect(by('samplesPerSecond', 64)).toBe(2);
  expect(stepOfLog(log, { ...job, globalBatchSize: 256 }).differs).toEqual([
    'The log has a global batch of 128, the scenario 256.',
  ]);
});
