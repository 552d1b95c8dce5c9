/** Timing of one thing many times over: warm-up first, then repeats; median, minimum and maximum are kept. */

export interface Bench {
  name: string;
  /** What one run does, with its counts. */
  about: string;
  /** Things done in one run, for a rate; absent where seconds are the figure. */
  things?: { count: number; unit: string };
  run: () => unknown;
}

/** Of several runs, seconds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export interface Measurement {
  name: string;
  about: string;
  repeats: number;
  /** Wall time of one run. */
  seconds: Spread;
  /** Time on cores of one run, the collector's and compiler's threads included: what other processes do counts less. */
  cpuSeconds: Spread;
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

interface Run {
  wall: number;
  cpu: number;
}

function timeOf(run: () => unknown): Run {
  const start = performance.now();
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
}

function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((a, b) => a - b);
  return { median: medianOf(sorted), min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

export function measure({ name, about, things, run }: Bench, { warmUpSeconds, repeats }: Effort): Measurement {
  let warm = 0;
  while (warm < warmUpSeconds) warm += timeOf(run).wall;
  const runs = Array.from({ length: repeats }, () => timeOf(run));
  const seconds = spreadOf(runs.map(({ wall }) => wall));
  const cpuSeconds = spreadOf(runs.map(({ cpu }) => cpu));
  if (things === undefined) return { name, about, repeats, seconds, cpuSeconds };
  const { count, unit } = things;
  const perSecond = {
    unit,
    median: count / seconds.median,
    min: count / seconds.max,
    max: count / seconds.min,
  };
  return { name, about, repeats, seconds, cpuSeconds, perSecond };
}
