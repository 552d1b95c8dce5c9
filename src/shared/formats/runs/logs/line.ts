/** What one line of a training log may say. */
export interface LogLine {
  iteration?: number;
  stepSeconds?: number;
  tokensPerSecondPerAccelerator?: number;
  tokensPerSecond?: number;
  samplesPerSecond?: number;
  globalBatchSize?: number;
  /** Peak of one device as the framework's allocator reports it. */
  allocatedBytes?: number;
  reservedBytes?: number;
  /** As the framework counts it; never turned into a time. */
  tflopsPerAccelerator?: number;
}

/** How one framework logs. `read` gets one line without colours; null where it says nothing that is known. */
export interface LogFormat {
  framework: string;
  /** Words to look for, as an error names them. */
  looksLike: string;
  /** What is peculiar to its numbers, for the reader; null where they are per iteration. */
  caution: string | null;
  read(line: string): LogLine | null;
}

const NUMBER = String.raw`(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)`;

/** The number that follows `before` (a regular expression's source); undefined where there is none above 0. */
export function numberAfter(line: string, before: string): number | undefined {
  const text = new RegExp(`${before}\\s*${NUMBER}`, 'i').exec(line)?.[1];
  const value = text === undefined ? Number.NaN : Number(text.replaceAll(',', ''));
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

const scaled = (value: number | undefined, unit: number) => (value === undefined ? undefined : value * unit);

type Found = { [Name in keyof LogLine]?: LogLine[Name] | undefined };

/** The line without what was not found; null where nothing was. */
export function lineOf(found: Found): LogLine | null {
  const entries = Object.entries(found as Record<string, number | undefined>).filter(
    ([, value]) => value !== undefined,
  );
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

export { scaled };
