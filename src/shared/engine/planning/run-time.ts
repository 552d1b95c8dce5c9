/**
 * How long a run takes, and at which rate it went. Source: MODEL §7.2.
 */
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../units.ts';

/** Days of `flops` over `accelerators` at `flopsPerSecond` each, of which `goodput` is training. */
export function daysOf(
  flops: number,
  { accelerators, flopsPerSecond, goodput = 1 }: { accelerators: number; flopsPerSecond: number; goodput?: number },
): number {
  return flops / (accelerators * flopsPerSecond * goodput) / SECONDS_PER_DAY;
}

/** One phase of a run: its tokens at its own pace (batch ramp, longer context, another learning rate). */
export interface RunPhase {
  readonly tokens: number;
  readonly tokensPerStep: number;
  readonly stepSeconds: number;
}

/** Days of several phases one after another. */
export function daysOfPhases(phases: readonly RunPhase[], goodput = 1): number {
  const seconds = phases.reduce((sum, phase) => sum + (phase.tokens / phase.tokensPerStep) * phase.stepSeconds, 0);
  return seconds / goodput / SECONDS_PER_DAY;
}

/** FLOP/s that each accelerator did on average over a whole run, from its accelerator hours. */
export function averageFlopsPerSecond(flops: number, acceleratorHours: number): number {
  return flops / (acceleratorHours * SECONDS_PER_HOUR);
}

/** Accelerator hours of a run. */
export function acceleratorHours(days: number, accelerators: number): number {
  return (days * SECONDS_PER_DAY * accelerators) / SECONDS_PER_HOUR;
}

/** Days that `hours` of accelerator time take on `accelerators`. */
export function daysOfHours(hours: number, accelerators: number): number {
  return (hours * SECONDS_PER_HOUR) / accelerators / SECONDS_PER_DAY;
}

/**
 * Throughput over p pipeline ranks where the bubble is all that changes: X(1)·m/(m + p − 1).
 * Source: MODEL §6; Narayanan et al. SC'21 fig. 11.
 */
export function throughputWithBubble(single: number, numMicroBatches: number, pp: number): number {
  return (single * numMicroBatches) / (numMicroBatches + pp - 1);
}
