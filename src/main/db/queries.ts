/** Everything that is read from and written to the library. Rows are checked when read: a file may be edited by hand. */
import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { AppError } from '#shared/errors.ts';
import {
  issuesOf,
  planSummarySchema,
  scenarioSchema,
  searchResultSchema,
  type PlanSummary,
  type Scenario,
  type SearchResult,
} from '#shared/schema/index.ts';

/** A scenario of the library; `scenario.results` holds what was found last. */
export interface StoredScenario {
  id: string;
  /** Grows with each change of the scenario, not with saved results. */
  revision: number;
  createdAt: string;
  updatedAt: string;
  exampleId: string | null;
  scenario: Scenario;
}

/** What the list shows, without the results. `scenario` is null where the stored text cannot be read. */
export interface StoredCard {
  id: string;
  revision: number;
  name: string;
  updatedAt: string;
  exampleId: string | null;
  scenario: Scenario | null;
  best: PlanSummary | null;
  engineVersion: string | null;
}

const rowSchema = z.object({
  id: z.string(),
  revision: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  example_id: z.string().nullable(),
  name: z.string(),
  document: z.string(),
  results: z.string().nullable(),
});
const cardRowSchema = rowSchema
  .omit({ results: true })
  .extend({ best: z.string().nullable(), engine_version: z.string().nullable() });
const nameRowSchema = z.object({ name: z.string() });

/** Undefined, which no schema takes, where the text is not JSON. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Results that an older version wrote may not fit any more; they can be computed again, so they are let go. */
function readResults<T>(schema: z.ZodType<T>, text: string | null): T | null {
  return text === null ? null : (schema.safeParse(readJson(text)).data ?? null);
}

function readScenario(row: z.infer<typeof rowSchema>): StoredScenario {
  const value = readJson(row.document);
  const parsed = scenarioSchema.safeParse(value);
  if (!parsed.success) {
    const [first] = issuesOf(parsed.error, value);
    throw new AppError('invalid-field', `the stored scenario "${row.name}" cannot be read: ${first?.message ?? ''}`, {
      path: first?.path ?? '',
      remedy: 'It is kept as it is. It may have been written by another version: update Trainyard, or delete it.',
    });
  }
  return {
    id: row.id,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    exampleId: row.example_id,
    scenario: { ...parsed.data, results: readResults(searchResultSchema, row.results) },
  };
}

function readCard(value: unknown): StoredCard {
  const row = cardRowSchema.parse(value);
  return {
    id: row.id,
    revision: row.revision,
    name: row.name,
    updatedAt: row.updated_at,
    exampleId: row.example_id,
    scenario: scenarioSchema.safeParse(readJson(row.document)).data ?? null,
    best: readResults(planSummarySchema, row.best),
    engineVersion: row.engine_version,
  };
}

const columns = 'id, revision, created_at, updated_at, example_id, name, document';
const statements = {
  list: `SELECT ${columns}, results ->> '$.engineVersion' AS engine_version, results -> '$.best[0]' AS best
    FROM scenarios WHERE deleted_at IS NULL ORDER BY updated_at DESC, rowid DESC`,
  get: `SELECT ${columns}, results FROM scenarios WHERE id = ? AND deleted_at IS NULL`,
  insert: `INSERT INTO scenarios (id, revision, created_at, updated_at, example_id, name, document, results)
    VALUES (@id, 1, @now, @now, @exampleId, @name, @document, @results)`,
  update: `UPDATE scenarios
    SET revision = revision + 1, updated_at = @now, name = @name, document = @document, results = @results
    WHERE id = @id AND revision = @revision AND deleted_at IS NULL`,
  saveResults: `UPDATE scenarios SET results = @results
    WHERE id = @id AND revision = @revision AND deleted_at IS NULL`,
  remove: 'UPDATE scenarios SET deleted_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING name',
  restore: 'UPDATE scenarios SET deleted_at = NULL WHERE id = ? AND deleted_at IS NOT NULL',
  purge: 'DELETE FROM scenarios WHERE deleted_at < ?',
  isPlaced: 'SELECT 1 FROM placed_examples WHERE example_id = ?',
  place: 'INSERT INTO placed_examples (example_id, placed_at) VALUES (@exampleId, @now)',
};

/** The queries of one open library, prepared once. All are synchronous; each change is one transaction. */
export function prepareQueries(db: Database) {
  const list = db.prepare(statements.list);
  const get = db.prepare(statements.get);
  const insert = db.prepare(statements.insert);
  const update = db.prepare(statements.update);
  const saveResults = db.prepare(statements.saveResults);
  const remove = db.prepare(statements.remove);
  const restore = db.prepare(statements.restore);
  const purge = db.prepare(statements.purge);
  const isPlaced = db.prepare(statements.isPlaced);
  const place = db.prepare(statements.place);

  const rowOf = (scenario: Scenario) => ({
    name: scenario.name,
    document: JSON.stringify({ ...scenario, results: null }),
    results: scenario.results === null ? null : JSON.stringify(scenario.results),
  });
  const add = (id: string, scenario: Scenario, { now, exampleId }: { now: string; exampleId: string | null }): void =>
    void insert.run({ id, now, exampleId, ...rowOf(scenario) });
  const placing = db.transaction((exampleId: string, id: string, scenario: Scenario, now: string): boolean => {
    if (isPlaced.get(exampleId) !== undefined) return false;
    place.run({ exampleId, now });
    add(id, scenario, { now, exampleId });
    return true;
  });

  return {
    list: (): StoredCard[] => list.all().map(readCard),
    get: (id: string): StoredScenario | null => {
      const row = get.get(id);
      return row === undefined ? null : readScenario(rowSchema.parse(row));
    },
    add,
    /** Replaces scenario and results; false where the scenario is gone or has another revision. */
    update: (id: string, revision: number, scenario: Scenario, now: string): boolean =>
      update.run({ id, revision, now, ...rowOf(scenario) }).changes === 1,
    /** False where the scenario is gone or has been changed since. */
    saveResults: (id: string, revision: number, results: SearchResult): boolean =>
      saveResults.run({ id, revision, results: JSON.stringify(results) }).changes === 1,
    /** The deleted scenario's name, or null where there is none; it can be restored until `purge`. */
    remove: (id: string, now: string): string | null => {
      const row = remove.get({ id, now });
      return row === undefined ? null : nameRowSchema.parse(row).name;
    },
    restore: (id: string): boolean => restore.run(id).changes === 1,
    /** Removes for good what was deleted before `before` (ISO 8601). */
    purge: (before: string): number => purge.run(before).changes,
    /** Adds an example unless it has been in this library before, even if it was deleted since. */
    placeExample: (exampleId: string, id: string, scenario: Scenario, now: string): boolean =>
      placing.immediate(exampleId, id, scenario, now),
  };
}

export type Queries = ReturnType<typeof prepareQueries>;
