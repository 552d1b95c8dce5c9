import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { AppError } from '#shared/errors.ts';

/** Larger than any scenario with its results; guards against reading a disk image into memory. */
const LARGEST_FILE_BYTES = 64 * 2 ** 20;

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'you may not read it',
    EISDIR: 'it is a folder',
    ENOTDIR: 'a part of its path is not a folder',
    EPERM: 'it is not permitted',
    EROFS: 'the disk is read-only',
    ENOSPC: 'the disk is full',
  };
  return known[code] ?? (error instanceof Error ? error.message : String(error));
}

/**
 * The text of a UTF-8 file, without its byte order mark.
 * Throws AppError file-unreadable: absent, a folder, too large, or not text.
 */
export function readTextFile(file: string): string {
  const fail = (reason: string, remedy: string, cause?: unknown) =>
    new AppError('file-unreadable', `${file} cannot be read: ${reason}`, { path: file, remedy, cause });
  let bytes: Buffer;
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) throw fail('it is a folder', 'Name a file inside it.');
    if (stat.isCharacterDevice() || stat.isBlockDevice()) throw fail('it is a device', 'Name an ordinary file.');
    if (stat.size > LARGEST_FILE_BYTES)
      throw fail(`it has ${stat.size} bytes`, `Choose a file of at most ${LARGEST_FILE_BYTES} bytes.`);
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw fail(reasonOf(error), 'Check the path and who may read it.', error);
  }
  if (bytes.length === 0)
    throw fail('it is empty', 'Choose another file; this one may never have been written in full.');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fail('it is not text in UTF-8', 'Choose a JSON file; this one may be compressed or binary.', cause);
  }
}

/** What a link leads to; a new file, or a link to nothing, is itself. */
function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/**
 * Writes a file in whole or not at all: to a temporary name beside it first, then renamed.
 * Throws AppError file-unwritable; without `force` also where the file is already there.
 */
export function writeTextFile(file: string, text: string, { force = false } = {}): void {
  const fail = (reason: string, remedy: string, cause?: unknown) =>
    new AppError('file-unwritable', `${file} cannot be written: ${reason}`, { path: file, remedy, cause });
  const target = targetOf(file);
  if (existsSync(target) && !statSync(target).isFile())
    throw fail(statSync(target).isDirectory() ? 'it is a folder' : 'it is no ordinary file', 'Name an ordinary file.');
  if (!existsSync(path.dirname(target)))
    throw fail('its folder is not there', 'Make the folder first, or choose another.');
  if (!force && existsSync(file)) throw fail('it is there already', 'Choose another name, or replace it with --force.');
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}.tmp`);
  let isMade = false;
  try {
    const handle = openSync(temporary, 'w');
    isMade = true;
    try {
      writeFileSync(handle, text); // unlike writeSync it goes on after a short write, and fails where the disk is full
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, target);
  } catch (cause) {
    if (isMade) rmSync(temporary, { force: true });
    throw fail(reasonOf(cause), 'Choose a place that you may write to.', cause);
  }
}
