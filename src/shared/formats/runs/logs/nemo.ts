import { lineOf, numberAfter, type LogFormat } from './line.ts';

/** NeMo's progress line and bar, and Megatron-Bridge's own. Source: NeMo's training logs; Megatron-Bridge train_utils.py. */
export const nemo: LogFormat = {
  framework: 'NeMo or Megatron-Bridge',
  looksLike: 'train_step_timing in s: 2.51, or Step Time : 2.51s GPU utilization: 612.0MODEL_TFLOP/s/GPU',
  caution: null,
  read: (line) => {
    const isBridge = /MODEL_TFLOP\/s\/GPU/i.test(line);
    const stepSeconds =
      numberAfter(line, 'train_step_timing in s"?[:=]') ?? (isBridge ? numberAfter(line, 'Step Time :') : undefined);
    if (stepSeconds === undefined) return null;
    return lineOf({
      stepSeconds,
      iteration: numberAfter(line, 'global_step[:=]'),
      globalBatchSize: numberAfter(line, 'global_batch_size[:=]'),
      tflopsPerAccelerator:
        numberAfter(line, 'TFLOPS_per_GPU[:=]') ?? (isBridge ? numberAfter(line, 'GPU utilization:') : undefined),
    });
  },
};
