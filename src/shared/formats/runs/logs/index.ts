/**
 * A pasted training log → what one step took. Pure; knows the lines of the frameworks in `formats` and nothing else.
 *
 * Warm-up: let m be the median of the second half of the log and s its scaled median deviation (1.4826 · MAD, at least
 * 1 % of m). From the start, steps are dropped while they lie more than 3 s from m. Later outliers (a checkpoint, an
 * evaluation) stay: they are counted and move neither median nor quartiles much.
 */
import { AppError } from '../../../errors.ts';
import { composer } from './composer.ts';
import { deepspeed } from './deepspeed.ts';
import { hfTrainer } from './hf-trainer.ts';
import type { LogFormat, LogLine } from './line.ts';
import { megatron } from './megatron.ts';
import { nemo } from './nemo.ts';
import { torchtitan } from './torchtitan.ts';

/** One entry per framework; where two read equally many lines, the first is taken. */
export const formats: readonly LogFormat[] = [megatron, nemo, torchtitan, deepspeed, composer, hfTrainer];

/** What a log may measure a step by, the most direct first. */
const quantities = ['stepSeconds', 'tokensPerSecondPerAccelerator', 'tokensPerSecond', 'samplesPerSecond'] as const;
export type LogQuantity = (typeof quantities)[number];

export interface LogSummary {
  framework: string;
  /** What the log prints; `median` and `quartiles` are of it, in its unit (seconds, or per second). */
  quantity: LogQuantity;
  median: number;
  quartiles: [number, number];
  /** Steps that the median is of. */
  count: number;
  /** Steps at the start that were dropped as warm-up. */
  warmUpDropped: number;
  /** Later steps far from the median; they are kept. */
  outliers: number;
  /** Largest that the log states; null where it states none. */
  allocatedBytes: number | null;
  reservedBytes: number | null;
  /** The last that the log states (a batch ramp ends there). */
  globalBatchSize: number | null;
  caution: string | null;
}

/** Value at a fraction of a sorted list, between its neighbours. */
function quantile(sorted: readonly number[], fraction: number): number {
  const place = fraction * (sorted.length - 1);
  const low = sorted[Math.floor(place)] ?? 0;
  return low + (place % 1) * ((sorted[Math.ceil(place)] ?? low) - low);
}
const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b);
const medianOf = (values: readonly number[]) => quantile(ascending(values), 0.5);

const MAD_TO_SIGMA = 1.4826; // of a normal distribution
const LEAST_SIGMA = 0.01;
const FAR_IN_SIGMAS = 3;

/** Splits a series into warm-up and the rest, and counts what is far in the rest. */
export function dropWarmUp(values: readonly number[]): { kept: readonly number[]; dropped: number; outliers: number } {
  const later = values.slice(Math.floor(values.length / 2));
  const middle = medianOf(later);
  const deviation = MAD_TO_SIGMA * medianOf(later.map((value) => Math.abs(value - middle)));
  const limit = FAR_IN_SIGMAS * Math.max(deviation, LEAST_SIGMA * middle);
  const isFar = (value: number) => Math.abs(value - middle) > limit;
  const first = values.findIndex((value) => !isFar(value));
  const kept = values.slice(Math.max(0, first));
  return { kept, dropped: values.length - kept.length, outliers: kept.filter(isFar).length };
}

function valuesOf(lines: readonly LogLine[], name: keyof LogLine): number[] {
  return lines.flatMap((line) => line[name] ?? []);
}
const largest = (values: readonly number[]) => (values.length === 0 ? null : values.reduce((a, b) => Math.max(a, b)));

/** One line per iteration: several ranks may have printed the same one. */
function oncePerIteration(lines: readonly LogLine[]): LogLine[] {
  const seen = new Set<number>();
  return lines.filter(({ iteration, ...rest }) => {
    if (iteration === undefined || !quantities.some((name) => rest[name] !== undefined)) return true;
    const isNew = !seen.has(iteration);
    seen.add(iteration);
    return isNew;
  });
}

function plainLines(text: string): string[] {
  // eslint-disable-next-line no-control-regex -- colours of a terminal
  return text.replaceAll(/\u001B\[[\d;]*m/g, '').split(/[\r\n]+/);
}

/** Reads a log. Throws AppError wrong-format that names the lines which are understood, where it holds none of them. */
export function readTrainingLog(text: string): LogSummary {
  const plain = plainLines(text);
  const readings = formats.map((format) => {
    const lines = oncePerIteration(plain.flatMap((line) => format.read(line) ?? []));
    const quantity = quantities.find((name) => valuesOf(lines, name).length > 0);
    return { format, lines, quantity, size: quantity === undefined ? 0 : valuesOf(lines, quantity).length };
  });
  const best = readings.reduce((a, b) => (b.size > a.size ? b : a));
  if (best.quantity === undefined) throw notUnderstood(plain.length);
  const { format, lines, quantity } = best;
  const { kept, dropped, outliers } = dropWarmUp(valuesOf(lines, quantity));
  const sorted = ascending(kept);
  return {
    framework: format.framework,
    quantity,
    median: quantile(sorted, 0.5),
    quartiles: [quantile(sorted, 0.25), quantile(sorted, 0.75)],
    count: kept.length,
    warmUpDropped: dropped,
    outliers,
    allocatedBytes: largest(valuesOf(lines, 'allocatedBytes')),
    reservedBytes: largest(valuesOf(lines, 'reservedBytes')),
    globalBatchSize: valuesOf(lines, 'globalBatchSize').at(-1) ?? null,
    caution: format.caution,
  };
}

function notUnderstood(numLines: number): AppError {
  const known = formats.map(({ framework, looksLike }) => `${framework}: ${looksLike}`).join('; ');
  return new AppError('wrong-format', `none of the ${numLines} lines of the log states a step time or throughput`, {
    remedy: `Paste lines as one of these frameworks prints them. ${known}.`,
  });
}

/** The job that a log is of, as far as a rate needs it to become a step time. */
export interface LoggedJob {
  globalBatchSize: number;
  seqLen: number;
  numAccelerators: number;
}

/** Seconds of a step by the log, and in what the log and the job differ. */
export function stepOfLog(log: LogSummary, job: LoggedJob): { stepSeconds: number; differs: string[] } {
  const { globalBatchSize, seqLen, numAccelerators } = job;
  const tokens = globalBatchSize * seqLen;
  const seconds: Record<LogQuantity, number> = {
    stepSeconds: log.median,
    tokensPerSecondPerAccelerator: tokens / (log.median * numAccelerators),
    tokensPerSecond: tokens / log.median,
    samplesPerSecond: globalBatchSize / log.median,
  };
  const differs =
    log.globalBatchSize === null || log.globalBatchSize === globalBatchSize
      ? []
      : [`The log has a global batch of ${log.globalBatchSize}, the scenario ${globalBatchSize}.`];
  return { stepSeconds: seconds[log.quantity], differs };
}
