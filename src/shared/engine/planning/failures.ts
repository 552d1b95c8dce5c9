/**
 * How often a job is interrupted, and how much of its time is work.
 * Source: MODEL §7.3; Llama 3 (arXiv 2407.21783) §3.3.4, Kokolis et al. HPCA'25 (arXiv 2410.21680).
 */
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../units.ts';

/** Interruptions as a report counts them. */
export interface ObservedFailures {
  readonly interruptions: number;
  readonly days: number;
  readonly accelerators: number;
  readonly acceleratorsPerNode: number;
}

export interface FailureRates {
  /** Mean time between interruptions of the job, s. */
  jobSeconds: number;
  /** … of one accelerator, s. */
  acceleratorSeconds: number;
  /** Failures per node and day. */
  perNodeDay: number;
}

/** Rates behind observed interruptions. */
export function failureRates(observed: ObservedFailures): FailureRates {
  const { interruptions, days, accelerators, acceleratorsPerNode } = observed;
  const jobSeconds = (days * SECONDS_PER_DAY) / interruptions;
  const nodeDays = (accelerators / acceleratorsPerNode) * days;
  return { jobSeconds, acceleratorSeconds: jobSeconds * accelerators, perNodeDay: interruptions / nodeDays };
}

/** Mean time between failures of a job on `accelerators`, s: failures of its parts are independent, so rates add. */
export function jobFailureSeconds(acceleratorSeconds: number, accelerators: number): number {
  return acceleratorSeconds / accelerators;
}

/** … from failures per node and day. Kokolis et al.: 24 h ÷ (nodes · r_f). */
export function jobFailureSecondsOfNodes(perNodeDay: number, nodes: number): number {
  return (24 * SECONDS_PER_HOUR) / (nodes * perNodeDay);
}

/** Failures per node and day of two clusters. Source: Kokolis et al., RSC-1 and RSC-2 (attributed infrastructure failures). */
export const observedNodeFailures = { 'rsc-1': 6.5e-3, 'rsc-2': 2.34e-3 } as const;

/** Llama 3's pre-training snapshot: unexpected interruptions. Source: Llama 3 §3.3.4, table 5. */
export const llama3Failures: ObservedFailures = {
  interruptions: 419,
  days: 54,
  accelerators: 16_384,
  acceleratorsPerNode: 8,
};

export interface EttrInputs {
  readonly nodes: number;
  readonly perNodeDay: number;
  /** From a failure until the job runs again, s. */
  readonly restartSeconds: number;
  readonly checkpointIntervalSeconds: number;
  /** Training waits so long for each checkpoint, s. */
  readonly checkpointSeconds: number;
}

/**
 * Expected share of time that is training (effective training time ratio), to first order:
 * (1 − N·r_f·(u0 + Δt/2)) ÷ (1 + w/Δt). Source: Kokolis et al. eq. 1 and 2; assumes few failures per interval.
 */
export function expectedTrainingShare(inputs: EttrInputs): number {
  const { nodes, perNodeDay, restartSeconds, checkpointIntervalSeconds, checkpointSeconds } = inputs;
  const perSecond = (nodes * perNodeDay) / SECONDS_PER_DAY;
  const lost = perSecond * (restartSeconds + checkpointIntervalSeconds / 2);
  return Math.max(0, 1 - lost) / (1 + checkpointSeconds / checkpointIntervalSeconds);
}

/**
 * Probability that more than `spares` nodes are out at once, where each is out for `repairSeconds` after a failure: Poisson
 * with mean nodes · repair ÷ MTBF of a node. Source: MODEL §7.4.
 */
export function sparesExhausted(
  { nodes, perNodeDay }: { nodes: number; perNodeDay: number },
  repairSeconds: number,
  spares: number,
): number {
  const mean = nodes * perNodeDay * (repairSeconds / SECONDS_PER_DAY);
  let term = Math.exp(-mean);
  let atMost = term;
  for (let count = 1; count <= spares; count++) {
    term *= mean / count;
    atMost += term;
  }
  return Math.max(0, 1 - atMost);
}
