import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scenarioSchema, type SearchResult } from '#shared/schema/index.ts';
import { openStore } from './index.ts';
import { migrate, migrations } from './migrations.ts';
import { openDatabase } from './open.ts';

let dir: string;
beforeEach(() => (dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-db-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = () => path.join(dir, 'trainyard.db');
const now = '2026-12-01T00:00:00.000Z';

const scenario = scenarioSchema.parse({
  format: 'trainyard/scenario',
  version: 1,
  name: 'Small',
  model: {
    name: 'Tiny',
    family: 'llama',
    numLayers: 2,
    hiddenSize: 64,
    ffnHiddenSize: 128,
    gatedFfn: true,
    numHeads: 4,
    numKvHeads: 4,
    headDim: 16,
    vocabSize: 1000,
    tiedEmbeddings: false,
    positions: 'rotary',
    normalization: 'rmsnorm',
  },
  cluster: {
    accelerator: 'h100-80gb-sxm',
    numAccelerators: 8,
    acceleratorsPerNode: 8,
    scaleUp: { domainSize: 8, kind: 'switched', bandwidthGBps: 450 },
    scaleOut: {
      nicsPerAccelerator: 1,
      bandwidthGbps: 400,
      latencyUs: 5,
      oversubscription: 1,
      inNetworkReduction: false,
    },
  },
  job: {
    kind: 'training',
    globalBatchSize: 8,
    seqLen: 128,
    precision: { compute: 'bf16', weights: 'bf16', gradients: 'fp32', optimizer: 'adam-fp32' },
    framework: { family: 'megatron-lm' },
  },
});
const results: SearchResult = {
  best: [],
  frontier: [],
  heatMap: [],
  reference: null,
  whyEmpty: ['none'],
  stats: { enumerated: 1, prunedByReason: {}, evaluated: 1, feasible: 0, seconds: 0.1, workers: 1 },
  engineVersion: '1',
};

describe('store', () => {
  test('keeps scenarios with their results over a restart', () => {
    const first = openStore(dir);
    first.add('a', { ...scenario, results }, { now, exampleId: null });
    first.close();
    const second = openStore(dir);
    expect(second.get('a')?.scenario).toEqual({ ...scenario, results });
    expect(second.list()).toMatchObject([{ id: 'a', revision: 1, name: 'Small', best: null, engineVersion: '1' }]);
    second.close();
  });

  test('an update counts the revision up, and one from an older revision changes nothing', () => {
    const store = openStore(dir);
    store.add('a', scenario, { now, exampleId: null });
    expect(store.update('a', 1, { ...scenario, name: 'B' }, now)).toBe(true);
    expect(store.update('a', 1, { ...scenario, name: 'C' }, now)).toBe(false);
    expect(store.get('a')).toMatchObject({ revision: 2, scenario: { name: 'B' } });
    expect(store.saveResults('a', 1, results)).toBe(false);
    expect(store.saveResults('a', 2, results)).toBe(true);
    expect(store.get('a')).toMatchObject({ revision: 2, scenario: { results: { whyEmpty: ['none'] } } });
    store.close();
  });

  test('a deleted scenario can be restored for a week, also after another program has opened the library', () => {
    const store = openStore(dir);
    store.add('a', scenario, { now, exampleId: null });
    expect(store.remove('a', now)).toBe('Small');
    expect([store.get('a'), store.list().length, store.remove('a', now)]).toEqual([null, 0, null]);
    expect(store.restore('a')).toBe(true);
    expect(store.get('a')).not.toBeNull();
    store.add('old', scenario, { now, exampleId: null });
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    store.remove('a', daysAgo(6));
    store.remove('old', daysAgo(8));
    const other = openStore(dir);
    expect([store.restore('a'), store.restore('old')]).toEqual([true, false]);
    other.close();
    store.close();
  });

  test('an example is placed once, also after it was deleted', () => {
    const store = openStore(dir);
    expect(store.placeExample('gpt-1t', 'x', scenario, now)).toBe(true);
    expect(store.placeExample('gpt-1t', 'y', scenario, now)).toBe(false);
    store.remove('x', now);
    store.close();
    const later = openStore(dir);
    expect(later.placeExample('gpt-1t', 'z', scenario, now)).toBe(false);
    expect(later.list()).toEqual([]);
    later.close();
  });

  test('a scenario that cannot be read is listed, named when opened, and kept', () => {
    const store = openStore(dir);
    store.add('a', scenario, { now, exampleId: null });
    store.close();
    const db = new Database(file());
    db.exec(`UPDATE scenarios SET document = json_set(document, '$.model.hiddenSize', -1)`);
    db.close();
    const later = openStore(dir);
    expect(later.list()).toMatchObject([{ name: 'Small', scenario: null }]);
    expect(() => later.get('a')).toThrow(
      expect.objectContaining({
        code: 'invalid-field',
        path: 'model.hiddenSize',
        remedy: expect.stringContaining('kept'),
      }),
    );
    later.close();
  });
});

describe('opening', () => {
  const refused = (code: string, where: string) =>
    expect.objectContaining({ code, path: where, remedy: expect.stringMatching(/\w/) });

  test.each([
    ['text', Buffer.from('this is no database, whatever its name says '.repeat(100))],
    ['noise', Buffer.from(Array.from({ length: 8192 }, (_, i) => (i * 7919) % 251))],
  ])('a file of %s is refused and left as it is', (_what, content) => {
    writeFileSync(file(), content);
    expect(() => openStore(dir)).toThrow(refused('database-unavailable', file()));
    expect(readFileSync(file())).toEqual(content);
  });

  test('a damaged library is refused and left as it is', () => {
    const store = openStore(dir);
    for (let i = 0; i < 50; i++) store.add(`s${i}`, scenario, { now, exampleId: null });
    store.close();
    truncateSync(file(), 20_000);
    const before = readFileSync(file());
    expect(() => openStore(dir)).toThrow(refused('database-unavailable', file()));
    expect(readFileSync(file())).toEqual(before);
  });

  test("another program's database is refused", () => {
    const db = new Database(file());
    db.exec('CREATE TABLE theirs (x)');
    db.close();
    expect(() => openStore(dir)).toThrow(refused('database-unavailable', file()));
  });

  test('a folder that cannot be made is named', () => {
    writeFileSync(path.join(dir, 'file'), '');
    const below = path.join(dir, 'file', 'data');
    expect(() => openStore(below)).toThrow(refused('database-unavailable', below));
  });

  test('a folder in place of the file is named', () => {
    expect(() => openStore('/dev/null')).toThrow(refused('database-unavailable', '/dev/null'));
  });

  test('a library of a newer Trainyard is refused and left as it is', () => {
    openDatabase(dir).close();
    const db = new Database(file());
    db.pragma('journal_mode = DELETE');
    db.pragma('user_version = 99');
    db.close();
    const bytes = readFileSync(file());
    expect(() => openStore(dir)).toThrow(refused('database-newer', file()));
    expect(readFileSync(file()).equals(bytes)).toBe(true);
    const after = new Database(file());
    expect(after.pragma('user_version', { simple: true })).toBe(99);
    after.close();
  });
});

describe('migrations', () => {
  const schemaOf = (db: Database.Database) =>
    db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all();

  test('shipped steps never change', () => {
    const hashes = migrations.map(({ sql }) => createHash('sha256').update(sql).digest('hex').slice(0, 16));
    expect(hashes).toMatchInlineSnapshot(`
      [
        "fed60f40285f03bf",
      ]
    `);
  });

  test.each(migrations.map((_, index) => index))(
    'a library of version %i becomes the same as a fresh one',
    (version) => {
      const fresh = new Database(':memory:');
      migrate(fresh);
      const old = new Database(':memory:');
      migrate(old, migrations.slice(0, version));
      migrate(old);
      expect(schemaOf(old)).toEqual(schemaOf(fresh));
    },
  );

  const twoSteps = [
    { name: 'one', sql: 'CREATE TABLE a (x INTEGER PRIMARY KEY) STRICT' },
    { name: 'two', sql: 'CREATE TABLE b (a INTEGER REFERENCES a (x)) STRICT; INSERT INTO b VALUES (1)' },
  ];

  test('an existing library is copied before its first step, a new one is not', () => {
    const db = new Database(file());
    migrate(db, twoSteps.slice(0, 1));
    db.exec('INSERT INTO a VALUES (1)');
    expect(readdirSync(dir)).toEqual(['trainyard.db']);
    migrate(db, twoSteps);
    db.close();
    const copy = new Database(`${file()}.v1.backup`, { readonly: true });
    expect(copy.pragma('user_version', { simple: true })).toBe(1);
    expect(copy.prepare('SELECT count(*) FROM a').pluck().get()).toBe(1);
    copy.close();
  });

  test('a step that leaves a reference to nothing is undone', () => {
    const db = new Database(file());
    migrate(db, twoSteps.slice(0, 1));
    expect(() => migrate(db, twoSteps)).toThrow('refer to nothing');
    expect(db.pragma('user_version', { simple: true })).toBe(1);
    expect(schemaOf(db)).toHaveLength(1);
    db.close();
  });
});
