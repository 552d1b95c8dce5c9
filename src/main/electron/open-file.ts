import { open } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '#shared/errors.ts';

/** Scenario, model and run files are kilobytes; more than this is some other file chosen by mistake. */
export const maxFileBytes = 8 * 2 ** 20;

/** File types of the dialog; the page tells the kinds apart by content. */
export const fileFilters = [
  {
    name: 'Scenarios, models and launch files',
    extensions: ['trainyard', 'json', 'yaml', 'yml', 'toml', 'sh', 'csv', 'txt'],
  },
  { name: 'All files', extensions: ['*'] },
];

/**
 * Reads a file that the user chose, as text.
 * @throws AppError `file-unreadable` where it is missing, not allowed, no regular file, too large or not UTF-8
 */
export async function readChosenFile(file: string): Promise<{ name: string; text: string }> {
  const name = path.basename(file);
  const refuse = (what: string, remedy: string, cause?: unknown) =>
    new AppError('file-unreadable', `${name} ${what}.`, { remedy, cause });
  try {
    await using handle = await open(file);
    const stat = await handle.stat();
    if (!stat.isFile()) throw refuse('is not a file', 'Choose a file.');
    if (stat.size > maxFileBytes) throw refuse(`has ${stat.size} bytes, more than 8 MiB`, 'Choose a smaller file.');
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
    return { name, text };
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (error instanceof TypeError) throw refuse('is not UTF-8 text', 'Save it as UTF-8 and try again.', error);
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw refuse(`could not be read (${code})`, 'Check that it exists and that you may read it.', error);
  }
}

/** The files among a command line's words that the program is asked to open. */
export function filesIn(argv: readonly string[]): string[] {
  return argv.filter((word) => !word.startsWith('-') && word.toLowerCase().endsWith('.trainyard'));
}
