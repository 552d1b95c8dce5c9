/**
 * The whole run with what interrupts it: failures, restarts and checkpoints, and what that makes of days, cost and energy.
 *
 * Legend: C training waits per checkpoint, T work between two, M mean time between failures of the job, R restart, in s.
 * Source: MODEL §7.3 (failures), §7.4 (checkpoints), §7.5 (energy).
 */
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../units.ts';
import { asynchronousCheckpoint, checkpointBytes, elapsedPerWork, exactInterval } from './checkpoints.ts';
import { energyKwh } from './cost.ts';
import { failureRates, jobFailureSeconds, llama3Failures } from './failures.ts';

/**
 * From a failure until the job computes again, without reading the checkpoint: found, diagnosed, started anew.
 * Source: MegaScale (arXiv 2402.15627) §4: detection and diagnosis below ten minutes on more than 10,000 GPUs.
 */
export const RESTART_SECONDS = 600;

export interface WholeRunInputs {
  /** Work alone, s: steps · step time. */
  readonly workSeconds: number;
  readonly accelerators: number;
  readonly parameters: number;
  /** Between one accelerator and its host, bytes/s. */
  readonly hostBytesPerSecond: number;
  /** Of the storage, bytes/s; null = unknown. */
  readonly writeBytesPerSecond: number | null;
  readonly readBytesPerSecond: number | null;
  /** Rated power of an accelerator, W; null = not published. */
  readonly powerWatts: number | null;
}

export interface WholeRun {
  /** Mean time between failures of one accelerator and of the job, s. */
  acceleratorFailureSeconds: number;
  failureSeconds: number;
  checkpointBytes: number;
  /** Training waits so long for each: the copy of a rank's part to its host. */
  checkpointSeconds: number;
  /** Writing behind it takes so long, s; null where the storage's rate is unknown. */
  writeSeconds: number | null;
  /** Reading at a restart, s; null where the storage's rate is unknown: then it counts for nothing. */
  readSeconds: number | null;
  /** Best interval by itself, and the one taken: never shorter than the writing. */
  bestIntervalSeconds: number;
  intervalSeconds: number;
  restartSeconds: number;
  /** Work ÷ elapsed time. */
  goodput: number;
  days: number;
  acceleratorHours: number;
  /** Failures that are expected in that time. */
  failures: number;
  kwh: number | null;
}

/** A run of `workSeconds` with asynchronous checkpoints at their best interval and failures as often as Llama 3 saw them. */
export function wholeRun(inputs: WholeRunInputs): WholeRun {
  const { accelerators, writeBytesPerSecond, readBytesPerSecond, powerWatts } = inputs;
  const acceleratorFailureSeconds = failureRates(llama3Failures).acceleratorSeconds;
  const failureSeconds = jobFailureSeconds(acceleratorFailureSeconds, accelerators);
  const bytes = checkpointBytes(inputs.parameters);
  const { waitSeconds, leastIntervalSeconds } = asynchronousCheckpoint(
    { bytes, ranks: accelerators },
    { hostBytesPerSecond: inputs.hostBytesPerSecond, storageBytesPerSecond: writeBytesPerSecond ?? Infinity },
  );
  const readSeconds = readBytesPerSecond === null ? null : bytes / readBytesPerSecond;
  const restartSeconds = RESTART_SECONDS + (readSeconds ?? 0);
  const bestIntervalSeconds = exactInterval(waitSeconds, failureSeconds);
  const intervalSeconds = Math.max(bestIntervalSeconds, leastIntervalSeconds);
  const plan = { checkpointSeconds: waitSeconds, intervalSeconds, restartSeconds, failureSeconds };
  const goodput = 1 / elapsedPerWork(plan);
  const seconds = inputs.workSeconds / goodput;
  const acceleratorHours = (seconds / SECONDS_PER_HOUR) * accelerators;
  return {
    acceleratorFailureSeconds,
    failureSeconds,
    checkpointBytes: bytes,
    checkpointSeconds: waitSeconds,
    writeSeconds: writeBytesPerSecond === null ? null : leastIntervalSeconds,
    readSeconds,
    bestIntervalSeconds,
    intervalSeconds,
    restartSeconds,
    goodput,
    days: seconds / SECONDS_PER_DAY,
    acceleratorHours,
    failures: seconds / failureSeconds,
    kwh: powerWatts === null ? null : energyKwh(acceleratorHours, powerWatts),
  };
}
