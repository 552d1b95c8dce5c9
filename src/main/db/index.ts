/** The library: scenarios with their last results, in one SQLite file of the data folder. */
import { openDatabase, databaseError } from './open.ts';
import { prepareQueries, type Queries } from './queries.ts';

export type { StoredCard, StoredScenario } from './queries.ts';

/** An open library. Every query throws AppError where the disk or another process is at fault. */
export type Store = Queries & { readonly file: string; close(): void };

/** Opens (or makes) the library of `dataDir` and lets go what was deleted before the last exit. */
export function openStore(dataDir: string): Store {
  const db = openDatabase(dataDir);
  const queries = prepareQueries(db);
  queries.purge();
  return { ...queries, file: db.name, close: () => void db.close() };
}

export { databaseError };
