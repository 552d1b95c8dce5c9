/** The library: scenarios with their last results, in one SQLite file of the data folder. */
import { openDatabase, databaseError } from './open.ts';
import { prepareQueries, type Queries } from './queries.ts';

export type { StoredCard, StoredScenario } from './queries.ts';

/** An open library. Every query throws AppError where the disk or another process is at fault. */
export type Store = Queries & { readonly file: string; close(): void };

/** How long a deleted scenario is kept: another program on the same library may still offer to restore it. */
const KEPT_MILLISECONDS = 7 * 24 * 3600 * 1000;

/** Opens (or makes) the library of `dataDir` and lets go what was deleted more than a week ago. */
export function openStore(dataDir: string): Store {
  const db = openDatabase(dataDir);
  const queries = prepareQueries(db);
  queries.purge(new Date(Date.now() - KEPT_MILLISECONDS).toISOString());
  return { ...queries, file: db.name, close: () => void db.close() };
}

export { databaseError };
