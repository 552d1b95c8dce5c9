/**
 * One step of mixed-precision Adam, which is bound by memory: read gradient, weight and two moments in fp32, write weight,
 * moments and the 16-bit copy. Source: MODEL §4.4.
 */

/** Bytes that Adam moves per parameter: reads g, p, m, v (4 × 4), writes p, m, v (3 × 4) and the 16-bit weight (2). */
export const ADAM_STEP_BYTES = 4 * 4 + 3 * 4 + 2;

/** Seconds of that step over `parameters` shared by `shards` ranks at a memory rate, launches aside. */
export function adamSeconds(parameters: number, shards: number, bytesPerSecond: number): number {
  return (parameters * ADAM_STEP_BYTES) / shards / bytesPerSecond;
}
