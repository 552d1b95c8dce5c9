/**
 * Measured kernel speed as compact curves: matmul, causal attention, collectives inside a node.
 *
 * Why: efficiency is what a planner cannot derive. The measured tables stay outside the repository; what ships is
 * `resources/calibration/kernels.json`, whose type is {@link KernelCurves}, written by `tools/fit-kernels`.
 * Use: pick an accelerator's curve from the file and pass it to the function of its kind, with the device's rates.
 * Limits: inference-library kernels on one device or node; forward only. docs/KERNELS.md states errors and ranges.
 */
import type { AttentionCurve } from './attention.ts';
import type { CollectiveCurve, CollectiveOp } from './collective.ts';
import type { DeviceRates, MatmulCurve } from './matmul.ts';

export { attentionSeconds, causalAttentionFlops } from './attention.ts';
export type { AttentionCurve, AttentionShape } from './attention.ts';
export { busFactor, collectiveSeconds, ringStepSeconds } from './collective.ts';
export type { BusBandwidth, CollectiveCall, CollectiveCurve, CollectiveCurves, CollectiveOp } from './collective.ts';
export { castSeconds, matmulAlignmentFactor, matmulSeconds, ridgeIntensity, tileWaves } from './matmul.ts';
export type { DeviceRates, MatmulCurve, MatmulShape } from './matmul.ts';

/** Relative errors |predicted/measured − 1| over a set of rows; 0.05 is 5 %. */
export interface ErrorStatistics {
  readonly rows: number;
  readonly medianApe: number;
  readonly p95Ape: number;
  /** Median of predicted/measured − 1: negative when the curve is optimistic. */
  readonly medianBias: number;
}

/** How well a curve reproduces its table. */
export interface FitStatistics extends ErrorStatistics {
  /** Both halves of a seeded split by shape, each predicted by parameters fitted to the other half only. */
  readonly heldOut: ErrorStatistics;
  /** Every row of the table, also the ones that do not matter in training. */
  readonly allRows: ErrorStatistics;
  /** Errors by size, in sample; the key names the range. */
  readonly buckets: Readonly<Record<string, ErrorStatistics>>;
}

export type Fitted<Curve> = Curve & { readonly fit: FitStatistics };

export interface AcceleratorCurves {
  /** The datasheet rates the curves were fitted against; a curve is only valid relative to them. */
  readonly device: DeviceRates & { readonly peakFlopsPerSecondByDtype: Readonly<Record<string, number>> };
  readonly matmul: Readonly<Record<string, Fitted<MatmulCurve>>>;
  readonly attention: Readonly<Record<string, Fitted<AttentionCurve>>>;
  readonly collective: Readonly<Record<CollectiveOp, Fitted<CollectiveCurve>>>;
}

/** Content of resources/calibration/kernels.json. */
export interface KernelCurves {
  readonly format: 'trainyard/kernel-curves';
  readonly version: 1;
  /** Date of the run that last changed a parameter, ISO 8601. */
  readonly fittedAt: string;
  readonly source: {
    readonly name: string;
    readonly licence: string;
    /** Source tables by accelerator id. */
    readonly tables: Readonly<Record<string, readonly string[]>>;
  };
  readonly accelerators: Readonly<Record<string, AcceleratorCurves>>;
}
