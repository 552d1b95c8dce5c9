/**
 * Errors that a person can act on. A `code` is compared by programs; the message is for people and always says what
 * was expected, what was found and what to do (the remedy). Bugs are plain `Error`s and never get a code.
 */

/** Closed list of what can go wrong through a user's input or machine. */
export const errorCodes = [
  'invalid-field', // a field is missing, of the wrong type or out of range
  'invalid-json', // the text is not JSON (half-written, truncated, another kind of file)
  'wrong-format', // JSON, but not a file of ours
  'newer-version', // written by a newer Trainyard
  'unknown-preset', // a preset, accelerator or example id that the catalog does not hold
  'unsupported', // understood, but not modelled yet by this version
  'file-unreadable', // a file could not be read
  'file-unwritable', // a file or folder could not be written
  'database-unavailable', // the store could not be opened
  'database-newer', // the store was written by a newer Trainyard
  'not-found', // no such scenario, job or call
  'conflict', // somebody else changed the same scenario in the meantime
  'forbidden', // a caller without the right to call
  'bad-request', // a call with a wrong name or input
  'bad-usage', // a wrong command line
  'not-enough-runs', // measured runs of too few sources to fit constants to
  'job-exists', // a job of that id is running
  'internal', // a bug of ours, with a log id
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** One fault in an input: where it is, what is wrong there and what would be right. */
export interface Issue {
  /** Dotted path from the root of the input, e.g. `model.hiddenSize`; empty for the whole input. */
  path: string;
  message: string;
  remedy: string;
}

/** An error as it crosses a process or network border. */
export interface WireError {
  code: ErrorCode;
  message: string;
  /** Dotted path of the field at fault, when one field is. */
  path?: string;
  remedy?: string;
  /** Every fault found, when there may be more than one. */
  issues?: Issue[];
  /** What the faults were found in: a file, a call. */
  subject?: string;
}

/** A fault of the input or the machine, not of the program. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly path: string | undefined;
  readonly remedy: string | undefined;
  readonly issues: readonly Issue[];
  readonly subject: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details: { path?: string; remedy?: string; issues?: readonly Issue[]; subject?: string; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'AppError';
    this.code = code;
    this.path = details.path;
    this.remedy = details.remedy;
    this.issues = details.issues ?? [];
    this.subject = details.subject;
  }

  toWire(): WireError {
    return {
      code: this.code,
      message: this.message,
      ...(this.path === undefined ? {} : { path: this.path }),
      ...(this.remedy === undefined ? {} : { remedy: this.remedy }),
      ...(this.issues.length === 0 ? {} : { issues: [...this.issues] }),
      ...(this.subject === undefined ? {} : { subject: this.subject }),
    };
  }
}

/** An `AppError` that gathers all faults found in one input; its own place is the first fault's. */
export function inputError(code: ErrorCode, what: string, issues: readonly Issue[]): AppError {
  const [first] = issues;
  const lines = issues.map((issue) => `${issue.path === '' ? '(whole input)' : issue.path}: ${issue.message}`);
  return new AppError(code, `${what}: ${lines.join('; ')}`, {
    ...(first === undefined ? {} : { path: first.path, remedy: first.remedy }),
    issues,
    subject: what,
  });
}

/** Runs `work`; faults that it finds in a scenario are told as those of the file that it came from. */
export function inFile<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError && error.issues.length > 0) throw inputError(error.code, file, error.issues);
    throw error;
  }
}

/** What any thrown value becomes at a border; an unknown one is a bug of ours and says so. */
export function wireErrorOf(error: unknown): WireError {
  if (error instanceof AppError) return error.toWire();
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'internal', message: `internal error: ${message}`, remedy: 'Please report this with the log.' };
}

/** An answer that is either a value or an error; what crosses every border. */
export type Reply<T> = { ok: true; value: T } | { ok: false; error: WireError };
