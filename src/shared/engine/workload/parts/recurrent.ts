/**
 * What the layers with a recurrent state have in common: an input projection, a short convolution, a scan that runs at the
 * speed of memory and small matmuls, a norm and gate, an output projection.
 * Source: MODEL §1, §2.1; Dao & Gu 2024 (Mamba-2, arXiv 2405.21060); Yang et al. 2024 (gated delta, arXiv 2412.06464).
 */
import { weightGradientTime } from '../../compute.ts';
import { groupSeconds } from '../../network/index.ts';
import { explainCollective } from '../explanation.ts';
import { blockCollectives, elementwise, gradientAccumulation, matmul } from '../operators.ts';
import type { LayerContext, Operator } from '../operators.ts';
import type { ActivationTensor, TensorContext } from './types.ts';

export interface Recurrent {
  label: string;
  /** Outputs of the input projection, elements per token. */
  projected: number;
  /** Channels that pass the convolution. */
  convolved: number;
  /** Width of the output projection's input. */
  inner: number;
  /** Forward FLOPs per token of the scan. */
  scanFlops: number;
  /** Elements of state that each token reads or writes in the chunked scan, per token. */
  scanElements: number;
}

/** Share of the dense peak that chunked scans reach: their matmuls are as small as one chunk and one head. Estimate. */
const SCAN_EFFICIENCY = 0.25;

/** Each rank of a cp group holds a part of the sequence; the scan needs all of it, so channels are exchanged and back. */
function exchange(layer: Recurrent, context: LayerContext): Operator[] {
  const { cp, tp, links, tokens } = context;
  if (cp === 1) return [];
  const bytes = (2 * tokens * (layer.convolved + layer.inner)) / tp;
  const seconds = groupSeconds(links, 'allToAll', context.groups.cp, bytes);
  return [
    {
      label: `CP all-to-alls, ${layer.label}`,
      kind: 'communication',
      group: 'cp',
      forwardSeconds: seconds,
      backwardSeconds: seconds,
      explain: explainCollective(context.groups.cp, bytes, {
        forward: { waited: seconds, hidden: 0 },
        backward: { waited: seconds, hidden: 0 },
      }),
      source: 'measured collective curve (docs/KERNELS.md), volume docs/MODEL.md §5.3',
    },
  ];
}

/** Kernels of one recurrent layer. */
export function recurrentOperators(layer: Recurrent, context: LayerContext): Operator[] {
  const { tp, tokens: m, processor } = context;
  const h = context.model.hiddenSize;
  const input = { m, n: layer.projected / tp, k: h };
  const inner = layer.inner / tp;
  const scanSeconds = (m * layer.scanFlops) / tp / (processor.halfRates.peakFlopsPerSecond * SCAN_EFFICIENCY);
  const scan = elementwise(`${layer.label} scan`, processor, {
    forward: (2 * layer.scanElements * m) / tp,
    backward: (4 * layer.scanElements * m) / tp,
    forwardKernels: 4,
    backwardKernels: 8,
  });
  return [
    matmul(`${layer.label} input projection`, context, input),
    elementwise(`${layer.label} convolution, norm and gate`, processor, {
      forward: (m * (4 * layer.convolved + 8 * layer.inner)) / tp,
      backward: (m * (8 * layer.convolved + 16 * layer.inner)) / tp,
      forwardKernels: 3,
      backwardKernels: 5,
    }),
    {
      ...scan,
      forwardSeconds: Math.max(scan.forwardSeconds, scanSeconds),
      backwardSeconds: Math.max(scan.backwardSeconds, 2.5 * scanSeconds),
      source: 'the larger of bytes ÷ memory bandwidth and FLOPs ÷ a quarter of the peak (docs/MODEL.md §2.1)',
    },
    matmul(`${layer.label} output projection`, context, { m, n: h, k: inner }),
    ...gradientAccumulation(layer.label, context, (h * (layer.projected + layer.inner)) / tp),
    ...exchange(layer, context),
    ...blockCollectives(layer.label, context, weightGradientTime(processor, input)),
  ];
}

/** Tensors that a recurrent layer keeps; the scan itself is computed again in backward. */
export function recurrentTensors(layer: Recurrent, { plan }: TensorContext): ActivationTensor[] {
  const source = 'docs/MODEL.md §3.4';
  return [
    { label: `${layer.label} projections`, bytesPerToken: (2 * layer.projected) / plan.tp, modules: [], source },
    { label: `${layer.label} convolution output`, bytesPerToken: (2 * layer.convolved) / plan.tp, modules: [], source },
    { label: `${layer.label} scan output and gate`, bytesPerToken: (4 * layer.inner) / plan.tp, modules: [], source },
  ];
}
