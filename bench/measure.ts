/** Timing of one thing many times over: warm-up first, then repeats; median, minimum and maximum are kept. */

export interface Bench {
  name: string;
  /** What one run does, with its counts. */
  about: string;
  /** Things done in one run, for a rate; absent where seconds are the figure. */
  things?: { count: number; unit: string };
  run: () => unknown;
}

export interface Measurement {
  name: string;
  about: string;
  repeats: number;
  /** Wall time of one run. */
  seconds: { median: number; min: number; max: number };
  /** Things per second: median from the median time, min from the slowest run, max from the fastest. */
  perSecond?: { unit: string; median: number; min: number; max: number };
}

export interface Effort {
  warmUpSeconds: number;
  /** Runs go on until there are `repeats` of them. */
  repeats: number;
}

function medianOf(sorted: readonly number[]): number {
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

function secondsOf(run: () => unknown): number {
  const start = performance.now();
  run();
  return (performance.now() - start) / 1000;
}

export function measure({ name, about, things, run }: Bench, { warmUpSeconds, repeats }: Effort): Measurement {
  let warm = 0;
  while (warm < warmUpSeconds) warm += secondsOf(run);
  const times = Array.from({ length: repeats }, () => secondsOf(run)).sort((a, b) => a - b);
  const seconds = { median: medianOf(times), min: times[0] ?? NaN, max: times.at(-1) ?? NaN };
  if (things === undefined) return { name, about, repeats, seconds };
  const { count, unit } = things;
  const perSecond = {
    unit,
    median: count / seconds.median,
    min: count / seconds.max,
    max: count / seconds.min,
  };
  return { name, about, repeats, seconds, perSecond };
}
