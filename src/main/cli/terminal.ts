/** Where a command writes to; tests give one that keeps what is written. */
export interface Terminal {
  /** Standard output: the answer. */
  out(text: string): void;
  /** Standard error: progress, warnings, faults. */
  err(text: string): void;
  /** Width in characters. */
  readonly columns: number;
  /** Whether a person watches standard error, so that progress may overwrite its own line. */
  readonly isWatched: boolean;
  /** Whether standard output shows bold text. */
  readonly hasStyles: boolean;
}

const DEFAULT_COLUMNS = 100;

/** The terminal of this process. */
export function processTerminal({ stdout, stderr, env } = process): Terminal {
  // whoever reads may have had enough (`| head`): that is no fault
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    stderr.write(`The answer could not be written: ${error.message}. Free some space and try again.\n`);
    process.exitCode = 2;
  });
  const columns = stdout.isTTY ? stdout.columns : Number(env.COLUMNS);
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    columns: Number.isInteger(columns) && columns >= 40 ? columns : DEFAULT_COLUMNS,
    isWatched: stderr.isTTY,
    hasStyles: stdout.isTTY && env.NO_COLOR === undefined && env.TERM !== 'dumb',
  };
}

/** The headline of an answer. */
export function bold(terminal: Terminal, text: string): string {
  return terminal.hasStyles ? `\u001b[1m${text}\u001b[22m` : text;
}

/** The one JSON document of a command. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${JSON.stringify(value, null, 2)}\n`);
}

export function printWarnings(terminal: Terminal, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`Note: ${warning}\n`);
}

/** What was taken because nobody said it. */
export function printAssumed(terminal: Terminal, assumed: readonly string[]): void {
  for (const text of new Set(assumed)) terminal.out(`  Assumed: ${text}.\n`);
}
