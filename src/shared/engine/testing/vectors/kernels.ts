/** Measured kernels and collectives of sections 4 and 5, by the fitted curves. */
import { attentionSeconds, causalAttentionFlops, collectiveSeconds, matmulSeconds } from '../../kernels/index.ts';
import type { AcceleratorCurves, CollectiveOp } from '../../kernels/index.ts';
import { calibration } from '../catalog.ts';
import { numbersOf, pick, type Answer, type Vector } from './vectors.ts';

const accelerators: Readonly<Record<string, string>> = { A100: 'a100-sxm', H100: 'h100-sxm', B200: 'b200-sxm' };

function curvesOf(gpu: string): AcceleratorCurves {
  const curves = calibration.kernels.accelerators[accelerators[gpu] ?? gpu];
  if (curves === undefined) throw new Error(`no curves for ${gpu}`);
  return curves;
}

/** Share of the dense peak, which the vector's own figure of the peak divides by. */
function matmulShare(vector: Vector): number {
  const [, gpu = '', dtype = ''] = vector.id.split('.');
  const { m = 1, n = 1, k = 1, peak = 1 } = numbersOf(vector);
  const { device, matmul } = curvesOf(gpu);
  const name = dtype === 'bfloat16' ? 'bf16' : dtype;
  const curve = matmul[name];
  if (curve === undefined) throw new Error(`no ${name} curve for ${gpu}`);
  const peakFlopsPerSecond = device.peakFlopsPerSecondByDtype[name] ?? device.peakFlopsPerSecond;
  const seconds = matmulSeconds(curve, { ...device, peakFlopsPerSecond }, { m, n, k });
  return (2 * m * n * k) / seconds / peak;
}

function attentionShare(vector: Vector): number {
  const gpu = vector.id.split('.')[1] ?? '';
  const { b = 1, H = 1, kv = 1, s = 1, d = 1, peak = 1 } = numbersOf(vector);
  const { device, attention } = curvesOf(gpu);
  const shape = { batch: b, seqLen: s, numHeads: H, numKvHeads: kv, headDim: d };
  const curve = attention['bf16'];
  if (curve === undefined) throw new Error(`no attention curve for ${gpu}`);
  return causalAttentionFlops(shape) / attentionSeconds(curve, device, shape) / peak;
}

const ops: Readonly<Record<string, CollectiveOp>> = {
  all_reduce: 'allReduce',
  all_gather: 'allGather',
  reduce_scatter: 'reduceScatter',
  alltoall: 'allToAll',
};

/** Microseconds; the vector's second figure is the bus bandwidth of the same time. */
function collectiveMicroseconds(vector: Vector): unknown[] {
  const { gpu = '', op = '' } = vector.inputs as Record<string, string>;
  const operation = ops[op];
  if (operation === undefined) throw new Error(`unknown collective ${op}`);
  const call = { op: operation, bytes: pick(numbersOf(vector), 'bytes'), numRanks: pick(numbersOf(vector), 'n') };
  return [1e6 * collectiveSeconds(curvesOf(gpu).collective, call)];
}

export const matmulAnswer: Answer = { ids: /^gemm\./, by: 'matmulSeconds', value: matmulShare };
export const attentionAnswer: Answer = { ids: /^attn_fwd\./, by: 'attentionSeconds', value: attentionShare };
export const collectiveAnswer: Answer = { ids: /^nccl\./, by: 'collectiveSeconds', value: collectiveMicroseconds };
export const kernelAnswers: readonly Answer[] = [matmulAnswer, attentionAnswer, collectiveAnswer];
