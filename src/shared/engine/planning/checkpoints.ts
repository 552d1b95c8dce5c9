/**
 * How large a checkpoint is, how long it takes, and how often to write one.
 *
 * Legend: C time that training waits for one checkpoint, T useful work between two, M mean time between failures,
 * R restart (detection, scheduling, initialisation, loading), all in s.
 * Source: MODEL §7.4; Young 1974; Daly 2006 (Future Generation Computer Systems 22, 303–312).
 */

/** Interval by Young: √(2CM). First order; too long where C is not small against M. */
export function youngInterval(checkpointSeconds: number, failureSeconds: number): number {
  return Math.sqrt(2 * checkpointSeconds * failureSeconds);
}

/** Interval by Daly: √(2CM)·(1 + ⅓√(C/2M) + C/18M) − C below C = 2M, else M. */
export function dalyInterval(checkpointSeconds: number, failureSeconds: number): number {
  const ratio = checkpointSeconds / (2 * failureSeconds);
  if (ratio >= 1) return failureSeconds;
  return youngInterval(checkpointSeconds, failureSeconds) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - checkpointSeconds;
}

/** The branch of Lambert's W that is above −1: w·e^w = x for −1/e ≤ x. Halley's iteration. */
export function lambertW(x: number): number {
  if (x < -1 / Math.E) throw new Error(`Lambert W of ${x} is not real`);
  // near the branch point W ≈ −1 + √(2(ex + 1))
  let w = x < -0.25 ? -1 + Math.sqrt(2 * (Math.E * x + 1)) : Math.log1p(x);
  for (let step = 0; step < 50; step++) {
    const power = Math.exp(w);
    const error = w * power - x;
    const delta = error / (power * (w + 1) - ((w + 2) * error) / (2 * w + 2) || 1);
    w -= delta;
    if (Math.abs(delta) <= 1e-15 * (1 + Math.abs(w))) break;
  }
  return w;
}

/** The interval that is best for exponentially distributed failures: M·(1 + W(−e^(−1 − C/M))). Least of {@link elapsedPerWork}. */
export function exactInterval(checkpointSeconds: number, failureSeconds: number): number {
  return failureSeconds * (1 + lambertW(-Math.exp(-1 - checkpointSeconds / failureSeconds)));
}

export interface CheckpointPlan {
  readonly checkpointSeconds: number;
  readonly intervalSeconds: number;
  readonly restartSeconds: number;
  readonly failureSeconds: number;
}

/** Elapsed time ÷ useful work: (M/T)·e^(R/M)·(e^((T+C)/M) − 1). Daly 2006 eq. 20, failures during restarts included. */
export function elapsedPerWork(plan: CheckpointPlan): number {
  const { checkpointSeconds: c, intervalSeconds: t, restartSeconds: r, failureSeconds: m } = plan;
  return (m / t) * Math.exp(r / m) * Math.expm1((t + c) / m);
}

/** Share of the time that is useful work: the inverse of {@link elapsedPerWork}. */
export function goodput(plan: CheckpointPlan): number {
  return 1 / elapsedPerWork(plan);
}

/** The same to first order: 1 − C/T − (T/2 + R)/M; good while all three are small. */
export function goodputFirstOrder(plan: CheckpointPlan): number {
  const { checkpointSeconds: c, intervalSeconds: t, restartSeconds: r, failureSeconds: m } = plan;
  return 1 - c / t - (t / 2 + r) / m;
}

/** Bytes per parameter in a checkpoint: 16-bit weights, fp32 master weights and Adam's two moments. */
export const CHECKPOINT_BYTES_PER_PARAMETER = 14;

/** Bytes of a checkpoint; `bytesPerParameter` 12 where the 16-bit weights are left out (they follow from the master's). */
export function checkpointBytes(parameters: number, bytesPerParameter = CHECKPOINT_BYTES_PER_PARAMETER): number {
  return parameters * bytesPerParameter;
}

/** Seconds to move a checkpoint at the storage's rate; at loading every replica reads unless one sends it on. */
export function checkpointSeconds(bytes: number, bytesPerSecond: number, copies = 1): number {
  return (bytes * copies) / bytesPerSecond;
}

/**
 * Seconds that training waits for an asynchronous checkpoint: only the copy of a rank's part to the host; but the
 * interval may not be shorter than the writing behind it.
 */
export function asynchronousCheckpoint(
  { bytes, ranks }: { bytes: number; ranks: number },
  { hostBytesPerSecond, storageBytesPerSecond }: { hostBytesPerSecond: number; storageBytesPerSecond: number },
): { waitSeconds: number; leastIntervalSeconds: number } {
  return {
    waitSeconds: bytes / ranks / hostBytesPerSecond,
    leastIntervalSeconds: bytes / storageBytesPerSecond,
  };
}
