import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '#shared/errors.ts';
import { APPLICATION_ID, checkKnown, migrate } from './migrations.ts';

const FILE_NAME = 'trainyard.db';
const LEAST_NODE = 22;

const remedies: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'It is left as it is. Move it away to start with an empty library, or put a backup in its place.',
  SQLITE_CORRUPT: 'It is left as it is. Move it away to start with an empty library, or put a backup in its place.',
  SQLITE_FULL: 'Free some disk space and try again; what was saved before is safe.',
  SQLITE_BUSY: 'Another Trainyard is writing to it. Try again, or close the other one.',
  SQLITE_READONLY: 'Make the file and its folder writable, or choose another data folder with --data-dir.',
  SQLITE_CANTOPEN: 'Make the folder writable, or choose another data folder with --data-dir.',
};

/** What a failure of SQLite means to the user; any other error comes back as it is. */
export function databaseError(error: unknown, file: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const kind = error.code.split('_').slice(0, 2).join('_'); // extended codes add a third part
  const remedy = remedies[kind] ?? 'It is left as it is. Move it away, or choose another data folder with --data-dir.';
  return new AppError('database-unavailable', `the library ${file} cannot be used: ${error.message}`, {
    path: file,
    remedy,
    cause: error,
  });
}

/** The folder itself, or the nearest one above it that is there. */
function nearestFolder(dir: string): string {
  let folder = path.resolve(dir);
  while (!existsSync(folder) && path.dirname(folder) !== folder) folder = path.dirname(folder);
  return folder;
}

function createFolder(dir: string): void {
  try {
    // Node's recursive mkdir never ends under /proc, which has no folders of its own to make
    const above = nearestFolder(dir);
    if (above !== dir) accessSync(above, constants.W_OK);
    if (above.startsWith('/proc')) throw new Error('nothing can be kept under /proc');
    mkdirSync(dir, { recursive: true, mode: 0o700 }); // one user's library; existing folders keep their rights
  } catch (cause) {
    throw new AppError('database-unavailable', `the data folder ${dir} cannot be made: ${(cause as Error).message}`, {
      path: dir,
      remedy: 'Choose a folder that you may write to, with --data-dir or TRAINYARD_DATA_DIR.',
      cause,
    });
  }
}

function checkWhole(db: Database.Database): void {
  const verdict = db.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') throw new Database.SqliteError(String(verdict), 'SQLITE_CORRUPT');
  const isEmpty = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (!isEmpty && db.pragma('application_id', { simple: true }) !== APPLICATION_ID)
    throw new Database.SqliteError('it is a database of another program', 'SQLITE_NOTADB');
}

/**
 * Opens the library in `dataDir`, makes folder and file where there are none, and brings the schema up to date.
 * Throws AppError database-unavailable or database-newer, with the path and what to do; nothing is overwritten.
 */
export function openDatabase(dataDir: string): Database.Database {
  // better-sqlite3 takes an older Node down with a segmentation fault, without a word
  if (Number(process.versions.node.split('.')[0]) < LEAST_NODE)
    throw new AppError('database-unavailable', `Node ${LEAST_NODE} or newer is needed, this is ${process.version}`, {
      remedy: 'Start Trainyard by its npm scripts: they bring a Node of their own.',
    });
  createFolder(dataDir);
  const file = path.join(dataDir, FILE_NAME);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { timeout: 5000 });
    checkWhole(db);
    checkKnown(db); // before anything is written
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL'); // a saved edit survives a power cut; writes here are rare and small
    db.pragma('foreign_keys = ON');
    migrate(db);
    return db;
  } catch (error) {
    db?.close();
    throw databaseError(error, file);
  }
}
