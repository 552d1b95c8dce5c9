/**
 * The planning problem in SI units: the one form in which the engine sees a scenario. Plain data, so that it can be
 * cloned into a worker.
 */
import type { Accelerator, Constraints, Model, PlanInput, Scenario, StackName } from '../schema/index.ts';
import { calibrationFor, type Calibration, type CalibrationSet } from './calibration/index.ts';
import type { Context } from './calibration/effects.ts';
import type { RuleFamily } from './family.ts';
import {
  assumedOf,
  toDevice,
  toHost,
  toNetwork,
  withOverrides,
  type Device,
  type Host,
  type Network,
} from './device.ts';
import { stackOf } from '../layer-stack.ts';
import { weightCopyBytes, type ComputePrecision } from './low-precision.ts';
import { optimizerStatesOf } from './optimizer-states.ts';

export type { Device, Host, Network } from './device.ts';

export interface Workload {
  globalBatchSize: number;
  seqLen: number;
  tokens: number | null;
  compute: ComputePrecision;
  weightBytesPerParameter: number;
  /** Bytes of low-precision copies of a weight that the matmuls read (cast and transposed), per parameter. */
  weightCopyBytesPerParameter: number;
  /** Bytes of the gradient that is accumulated and reduced between ranks, per parameter. */
  gradientBytesPerParameter: number;
  /** Optimizer states incl. fp32 master weights, bytes per parameter. */
  optimizerBytesPerParameter: number;
  /** The same for embedding, head and what else stands outside the layers (Muon leaves them to Adam). */
  outerOptimizerBytesPerParameter: number;
  /** Of both, the fp32 copy of 16-bit gradients, which is there at the update only; bytes per parameter. */
  gradientCopyBytesPerParameter: number;
  optimizerLabel: string;
  /** Adapters that are trained in place of the weights; null = the weights themselves are. */
  adapters: Scenario['job']['lora'];
  /** Year of the training stack, from the framework's version; what it could do follows from it. */
  stackYear: number;
}

/** Whose rules and defaults hold. */
export interface Framework {
  family: RuleFamily;
  version: string | null;
  /** The product on top of the family; null = the family's own. */
  stack: StackName | null;
}

export interface Problem {
  model: Model;
  framework: Framework;
  device: Device;
  network: Network;
  host: Host;
  workload: Workload;
  constraints: Constraints;
  objective: Scenario['objective'];
  price: { currency: string; perAcceleratorHour: number } | null;
  /** The scenario's own plan, listed beside what is found. */
  referencePlan: PlanInput | null;
  referenceLabel: string;
  calibration: Calibration;
  assumed: string[];
}

/** What the newest modelled stack is. */
const CURRENT_STACK_YEAR = 2025;

/**
 * The year of a training stack from what its version says: a year if one is written, else by Megatron's numbering
 * ("core 0.x" and "r0.x" began in 2023; v1 to v3 are 2019 to 2022). null = the newest modelled.
 */
export function stackYearOf(version: string | null): number {
  if (version === null) return CURRENT_STACK_YEAR;
  const year = /\b(20[12]\d)\b/.exec(version);
  if (year !== null) return Number(year[1]);
  const major = /\bv?([123])\.\d/i.exec(version);
  if (major !== null && !/core/i.test(version)) return 2019 + Number(major[1]);
  const core = /(?:^|[^\d.])0\.(\d+)/.exec(version);
  if (core !== null) return Number(core[1]) <= 5 ? 2023 : Number(core[1]) <= 10 ? 2024 : 2025;
  return CURRENT_STACK_YEAR;
}

const bytesOf = { bf16: 2, fp16: 2, fp32: 4, fp8: 1 } as const;

function toWorkload(job: Scenario['job'], compute: Workload['compute']): Workload {
  const optimizer = optimizerStatesOf(job);
  return {
    globalBatchSize: job.globalBatchSize,
    seqLen: job.seqLen,
    tokens: job.tokens,
    compute,
    weightBytesPerParameter: bytesOf[job.precision.weights],
    weightCopyBytesPerParameter: weightCopyBytes(job.precision.weights, compute),
    gradientBytesPerParameter: bytesOf[job.precision.gradients],
    optimizerBytesPerParameter: optimizer.perParameter,
    outerOptimizerBytesPerParameter: optimizer.perOuterParameter,
    gradientCopyBytesPerParameter: optimizer.gradientCopy,
    optimizerLabel: optimizer.label,
    adapters: job.lora,
    stackYear: stackYearOf(job.framework.version),
  };
}

/** Year up to which a stack's runs are told apart from its later ones: before flash attention and sharded optimizers. */
const LAST_OLD_YEAR = 2022;

/** What a calibration's scopes are compared with. */
export function contextOf({ model, job }: Pick<Scenario, 'model' | 'job'>, acceleratorId: string): Context {
  const { family, stack, version } = job.framework;
  const name = stack ?? family;
  return {
    stack: stackYearOf(version) <= LAST_OLD_YEAR ? `${name} until ${LAST_OLD_YEAR}` : name,
    accelerator: acceleratorId,
    precision: job.precision.compute,
    kind: stackOf(model).kinds.some(({ ffn }) => ffn.type === 'moe') ? 'moe' : 'dense',
  };
}

/** The problem that a resolved scenario poses. Throws only on a bug (an unsupported precision was let through). */
export function toProblem(
  scenario: Scenario,
  catalogAccelerator: Accelerator,
  calibrationSet: CalibrationSet,
  referenceLabel = 'your plan',
): Problem {
  const { model, cluster, job } = scenario;
  const { compute } = job.precision;
  if (compute === 'fp32') throw new Error(`precision ${compute} reached the engine`);
  const { price } = cluster;
  const accelerator = withOverrides(catalogAccelerator, cluster);
  const calibration = calibrationFor(calibrationSet, contextOf(scenario, accelerator.id));
  const device = toDevice(accelerator, cluster, compute, calibration);
  return {
    model,
    framework: job.framework,
    device,
    network: toNetwork(cluster, accelerator),
    host: toHost(cluster, accelerator),
    workload: toWorkload(job, compute),
    constraints: scenario.constraints,
    objective: scenario.objective,
    price: price === null ? null : { currency: price.currency, perAcceleratorHour: price.perAcceleratorHour },
    referencePlan: scenario.plan,
    referenceLabel,
    calibration,
    assumed: assumedOf(accelerator, device),
  };
}
