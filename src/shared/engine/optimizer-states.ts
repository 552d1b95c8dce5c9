/**
 * Bytes of optimizer states per parameter.
 *
 *   master weights  fp32 (4) where the weights themselves are 16-bit
 *   moments         of Adam two of 4, 2 or 1 bytes; momentum of SGD and Muon one of 4; Adafactor's rows and columns ~0
 *   fp32 gradients  a copy (4) where the accumulated gradient is 16-bit and the optimizer wants fp32 (Megatron-LM)
 * Muon's momentum is for matrices of the layers; embedding, head and norms are Adam's.
 * Source: MODEL §3.1; Megatron-LM core/optimizer/optimizer_config.py (precision-aware optimizer), Dettmers et al. 2022 (8-bit
 * Adam), Jordan et al. 2024 (Muon), Shazeer & Stern 2018 (Adafactor); ZeRO §5.1 (12 bytes, no copy of gradients).
 */
import type { Job, Optimizer } from '../schema/index.ts';

interface Kind {
  label: string;
  /** Moments of the layers' matrices, and of everything else. */
  matrixMoments: number;
  otherMoments: number;
  hasMaster: boolean;
  /** Takes 16-bit gradients as they are. */
  takesHalfGradients: boolean;
}

const adam = (label: string, moments: number, takesHalfGradients: boolean, hasMaster = true): Kind => ({
  label,
  matrixMoments: moments,
  otherMoments: moments,
  hasMaster,
  takesHalfGradients,
});

const kinds: Record<Optimizer, Kind> = {
  'adam-fp32': adam('Adam', 8, false),
  'adam-bf16': adam('Adam with bf16 moments', 4, true),
  'adam-fp8': adam('Adam with fp8 moments', 2, true),
  'adam-8bit': adam('8-bit Adam', 2, true),
  'adam-bf16-pure': adam('Adam in bf16', 4, true, false),
  muon: { ...adam('Muon', 8, false), matrixMoments: 4 },
  'sgd-momentum': adam('SGD with momentum', 4, false),
  adafactor: adam('Adafactor', 0, false),
};

export interface OptimizerStates {
  label: string;
  /** Bytes per parameter of the layers. */
  perParameter: number;
  /** Bytes per parameter of embedding, head and what else stands outside the layers. */
  perOuterParameter: number;
  /** Of both, the fp32 copy of the gradients: it is made for the update and freed before the next step's forward pass. */
  gradientCopy: number;
}

/** Optimizer states incl. master weights, bytes per parameter, by the job's precision and framework. */
export function optimizerStatesOf({ precision, framework }: Pick<Job, 'precision' | 'framework'>): OptimizerStates {
  const { label, matrixMoments, otherMoments, hasMaster, takesHalfGradients } = kinds[precision.optimizer];
  const hasMasterWeights = hasMaster && precision.weights !== 'fp32';
  const hasGradientCopy =
    precision.weights !== 'fp32' &&
    precision.gradients !== 'fp32' &&
    !takesHalfGradients &&
    framework.family === 'megatron-lm';
  const gradientCopy = hasGradientCopy ? 4 : 0;
  const base = (hasMasterWeights ? 4 : 0) + gradientCopy;
  return {
    label: hasMasterWeights ? `${label}, fp32 master weights` : label,
    perParameter: base + matrixMoments,
    perOuterParameter: base + otherMoments,
    gradientCopy,
  };
}
