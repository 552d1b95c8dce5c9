import { existsSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { AppError } from '#shared/errors.ts';

/** One step of the schema. A shipped step is never edited (a test holds its hash): append another. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** Step `i` leads from `user_version` i to i + 1. */
export const migrations: readonly Migration[] = [
  {
    name: 'scenarios',
    sql: `
      CREATE TABLE scenarios (
        id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL CHECK (revision >= 1),
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        deleted_at TEXT,
        example_id TEXT,
        name TEXT NOT NULL,
        document TEXT NOT NULL CHECK (json_valid(document)),
        results TEXT CHECK (json_valid(results))
      ) STRICT;
      CREATE INDEX scenarios_by_update ON scenarios (updated_at) WHERE deleted_at IS NULL;
      CREATE TABLE placed_examples (
        example_id TEXT PRIMARY KEY,
        placed_at TEXT NOT NULL
      ) STRICT;
    `,
  },
];

/** Marks the file as ours, so that another program's SQLite file is not taken for an empty library ("TYRD"). */
export const APPLICATION_ID = 0x54_59_52_44;

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** A copy beside the file. Its name says which version it holds; an older copy of that version is kept as it is. */
function backUp(db: Database, version: number): void {
  const base = `${db.name}.v${version}.backup`;
  let copy = base;
  for (let n = 2; existsSync(copy); n++) copy = `${base}-${n}`;
  db.prepare('VACUUM INTO ?').run(copy); // a plain copy of the file would miss what is still in the write-ahead log
}

function apply(db: Database, index: number, step: Migration): void {
  db.transaction(() => {
    if (versionOf(db) !== index) return; // another process did this step while we waited for the lock
    db.exec(step.sql);
    const broken = db.pragma('foreign_key_check');
    if (Array.isArray(broken) && broken.length > 0)
      throw new Error(`migration ${index + 1} (${step.name}) leaves ${broken.length} rows that refer to nothing`);
    db.pragma(`user_version = ${index + 1}`);
    db.pragma(`application_id = ${APPLICATION_ID}`);
  }).immediate();
}

/** Throws AppError database-newer for a file of a newer Trainyard; writes nothing. */
export function checkKnown(db: Database, steps: readonly Migration[] = migrations): void {
  const version = versionOf(db);
  if (version > steps.length)
    throw new AppError(
      'database-newer',
      `the library ${db.name} has version ${version}; this Trainyard knows versions up to ${steps.length}`,
      { path: db.name, remedy: 'Update Trainyard, or choose another data folder with --data-dir.' },
    );
}

/**
 * Brings an open database to the newest schema, each step in a transaction of its own. An existing file is copied
 * first. Throws AppError database-newer for a file of a newer Trainyard, which is left as it is.
 */
export function migrate(db: Database, steps: readonly Migration[] = migrations): void {
  checkKnown(db, steps);
  const version = versionOf(db);
  if (version === steps.length) return;
  if (version > 0 && !db.memory) backUp(db, version);
  db.pragma('foreign_keys = OFF'); // a step may rebuild a table that others refer to
  for (let index = version; index < steps.length; index++) {
    const step = steps[index];
    if (step !== undefined) apply(db, index, step);
  }
  db.pragma('foreign_keys = ON');
}
