import { MIB } from '../../../units.ts';
import { lineOf, numberAfter, scaled, type LogFormat } from './line.ts';

/**
 * Megatron-LM and its descendants (Megatron-DeepSpeed, Primus, MindSpeed). Source: Megatron-LM training.py, training_log,
 * and report_memory ("memory (MB)" is bytes ÷ 1024²). Primus prints the running mean behind a slash; it is not read.
 */
export const megatron: LogFormat = {
  framework: 'Megatron-LM',
  looksLike: 'elapsed time per iteration (ms): 4210.3',
  caution: null,
  read: (line) => {
    const isMemory = /memory \(MB\)/i.test(line);
    const stepSeconds = scaled(numberAfter(line, String.raw`elapsed time per iteration \(ms\):`), 1e-3);
    if (!isMemory && stepSeconds === undefined) return null;
    return lineOf({
      stepSeconds,
      iteration: numberAfter(line, String.raw`\biteration`),
      globalBatchSize: numberAfter(line, 'global batch size:'),
      tflopsPerAccelerator:
        numberAfter(line, String.raw`throughput per GPU \(TFLOP/s/GPU\):`) ?? numberAfter(line, 'TFLOPs:'),
      ...(isMemory
        ? {
            allocatedBytes: scaled(numberAfter(line, 'max allocated:'), MIB),
            reservedBytes: scaled(numberAfter(line, 'max reserved:'), MIB),
          }
        : {}),
    });
  },
};
