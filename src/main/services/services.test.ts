import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { calls, type AppEvent, type CallName, type CallOutput, type ScenarioRecord } from '#shared/contract.ts';
import type { WireError } from '#shared/errors.ts';
import { createServices, type Services } from './index.ts';

const resourcesDir = path.resolve(import.meta.dirname, '../../../resources');
let dataDir: string;
let services: Services;
let log: string[];
/** A library whose examples are planned: most tests begin with a copy, so that no search of theirs is in the way. */
let plannedDir: string;

const newDir = () => mkdtempSync(path.join(os.tmpdir(), 'trainyard-services-'));
const start = () =>
  createServices({ dataDir, resourcesDir, appVersion: '1.2.3', numWorkers: 2, log: (line) => log.push(line) });

beforeAll(async () => {
  plannedDir = dataDir = newDir();
  services = start();
  await examplesPlanned();
  await services.close();
});
afterAll(() => rmSync(plannedDir, { recursive: true }));
beforeEach(() => {
  dataDir = newDir();
  cpSync(plannedDir, dataDir, { recursive: true });
  log = [];
  services = start();
});
afterEach(async () => {
  await services.close();
  rmSync(dataDir, { recursive: true });
  expect(log).toEqual([]);
});
async function startAfresh(): Promise<void> {
  await services.close();
  rmSync(dataDir, { recursive: true });
  services = start();
}

/** A call that must succeed; its answer is checked against the contract. */
async function call<N extends CallName>(name: N, input: unknown = {}): Promise<CallOutput<N>> {
  const reply = await services.request(name, input);
  if (!reply.ok) throw new Error(`${name}: ${JSON.stringify(reply.error)}`);
  return calls[name].output.parse(reply.value) as CallOutput<N>;
}
async function refusal(name: string, input: unknown): Promise<WireError> {
  const reply = await services.request(name, input);
  if (reply.ok) throw new Error(`${name} was not refused`);
  return reply.error;
}
/** The first event that passes, waited for from the moment of the call. */
function event<T extends AppEvent['type']>(type: T, about = ''): Promise<Extract<AppEvent, { type: T }>> {
  return new Promise((resolve) => {
    const stop = services.subscribe((found) => {
      if (found.type !== type || ('jobId' in found && about !== '' && found.jobId !== about)) return;
      stop();
      resolve(found as Extract<AppEvent, { type: T }>);
    });
  });
}
async function examplesPlanned(): Promise<void> {
  const pending = new Set((await call('scenario.list')).filter((card) => card.best === null).map((card) => card.id));
  if (pending.size === 0) return;
  await new Promise<void>((resolve) => {
    services.subscribe((found) => {
      if (found.type === 'job-done') pending.delete(found.scenarioId);
      if (pending.size === 0) resolve();
    }, 0);
  });
}

const small = {
  format: 'trainyard/scenario',
  version: 1,
  name: 'Small',
  model: { preset: 'llama-3.2-1b' },
  cluster: { accelerator: 'H100', numAccelerators: 8 },
  job: { globalBatchSize: 64, seqLen: 2048, tokens: 1e9 },
};
const create = (change: object = {}) => call('scenario.create', { scenario: { ...small, ...change } });
async function planned(record: ScenarioRecord, jobId = 'job'): Promise<ScenarioRecord> {
  const done = event('job-done', jobId);
  await call('search.start', { jobId, scenarioId: record.id });
  await done;
  return call('scenario.get', { id: record.id });
}

describe('first start', () => {
  test('the examples are there and are planned, once', async () => {
    await startAfresh();
    const cards = await call('scenario.list');
    expect(cards.map((card) => card.exampleId)).toEqual(['gpt-1t', 'llama-3.1-405b', 'llama-3.1-8b']);
    await examplesPlanned();
    const after = await call('scenario.list');
    for (const card of after) expect(card.best, card.name).toMatchObject({ verdict: 'fits' });
    expect(after.map((card) => card.clusterLabel)[0]).toBe('3,072 × NVIDIA A100 80GB SXM');
    const [first] = after;
    const record = await call('scenario.get', { id: first!.id });
    expect(record.scenario.results?.reference).toMatchObject({ label: 'published split' });

    await services.close();
    services = start();
    const events: AppEvent[] = [];
    services.subscribe((found) => events.push(found), 0);
    expect((await call('scenario.list')).map((card) => card.id)).toEqual(after.map((card) => card.id));
    expect(events).toEqual([]);
  });

  test('an example deleted before does not come back', async () => {
    const [first] = await call('scenario.list');
    await call('scenario.delete', { id: first!.id });
    await services.close();
    services = start();
    expect(await call('scenario.list')).toHaveLength(2);
    // but who deleted it a moment ago may still take that back
    await call('scenario.restore', { id: first!.id });
    expect(await call('scenario.list')).toHaveLength(3);
  });
});

describe('library', () => {
  test('create, rename, duplicate, delete, restore', async () => {
    const record = await create();
    expect(record).toMatchObject({ revision: 1, exampleId: null, scenario: { name: 'Small', results: null } });
    expect(record.scenario.model.numLayers).toBe(16);
    const renamed = await call('scenario.rename', { id: record.id, name: '  Smaller ' });
    expect(renamed).toMatchObject({ revision: 2, scenario: { name: 'Smaller' } });
    const copy = await call('scenario.duplicate', { id: record.id });
    expect(copy.scenario).toEqual({ ...renamed.scenario, name: 'Smaller (copy)' });
    expect(await call('scenario.delete', { id: record.id })).toEqual({ id: record.id, name: 'Smaller' });
    expect(await refusal('scenario.get', { id: record.id })).toMatchObject({
      code: 'not-found',
      remedy: expect.any(String),
    });
    expect(await call('scenario.restore', { id: record.id })).toEqual(renamed);
    expect((await call('scenario.list')).slice(0, 2).map((card) => card.name)).toEqual(['Smaller (copy)', 'Smaller']);
  });

  test('an edit from an older revision is a conflict and changes nothing', async () => {
    const record = await create();
    const edit = (notes: string, revision: number) => ({
      id: record.id,
      revision,
      scenario: { ...record.scenario, notes },
    });
    const second = await call('scenario.update', edit('mine', 1));
    expect(await refusal('scenario.update', edit('theirs', 1))).toMatchObject({ code: 'conflict', path: 'revision' });
    expect(await call('scenario.get', { id: record.id })).toEqual(second);
  });

  test('results are kept over an edit only while they answer the same question', async () => {
    const record = await planned(await create({ plan: { tp: 8 } }));
    expect(record.revision).toBe(1);
    const { results } = record.scenario;
    expect(results?.reference).toMatchObject({ label: 'your plan' });
    const edited = async (from: ScenarioRecord, change: object) =>
      call('scenario.update', { id: from.id, revision: from.revision, scenario: { ...from.scenario, ...change } });
    const noted = await edited(record, { notes: 'x', name: 'y' });
    expect(noted.scenario.results).toEqual(results);
    const otherPlan = await edited(noted, { plan: { tp: 4 } });
    expect(otherPlan.scenario.results).toEqual({ ...results, reference: null });
    const otherJob = await edited(otherPlan, { job: { ...record.scenario.job, globalBatchSize: 128 } });
    expect(otherJob.scenario.results).toBeNull();
  });

  test('a page is told of every change', async () => {
    const told = event('scenarios-changed');
    const { id } = await create();
    expect((await told).ids).toEqual([id]);
  });
});

describe('search', () => {
  test('reports from 0 on and saves what it found', async () => {
    const record = await create();
    const first = event('job-progress', 'a');
    const done = event('job-done', 'a');
    expect(await call('search.start', { jobId: 'a', scenarioId: record.id, top: 5 })).toEqual({ jobId: 'a' });
    expect(await first).toMatchObject({ done: 0, scenarioId: record.id, best: null });
    const { result, saved } = await done;
    expect(saved).toBe(true);
    expect(result.best).toHaveLength(5);
    expect(await call('scenario.get', { id: record.id })).toEqual({
      ...record,
      scenario: { ...record.scenario, results: result },
    });
    const [card] = await call('scenario.list');
    expect(card?.best).toEqual(result.best[0]);
  });

  test('a result for a scenario that was edited meanwhile is told, not saved', async () => {
    const record = await create();
    const done = event('job-done', 'a');
    await call('search.start', { jobId: 'a', scenarioId: record.id });
    await call('scenario.rename', { id: record.id, name: 'Other' });
    expect((await done).saved).toBe(false);
    expect((await call('scenario.get', { id: record.id })).scenario.results).toBeNull();
  });

  test('can be cancelled; an id is free again afterwards', async () => {
    const record = await create();
    const ended = event('job-cancelled', 'a');
    await call('search.start', { jobId: 'a', scenarioId: record.id });
    expect(await refusal('search.start', { jobId: 'a', scenarioId: record.id })).toMatchObject({
      code: 'job-exists',
      path: 'jobId',
    });
    expect(await call('job.cancel', { jobId: 'a' })).toEqual({ cancelled: true });
    await ended;
    expect(await call('job.cancel', { jobId: 'a' })).toEqual({ cancelled: false });
    expect((await planned(record, 'a')).scenario.results).not.toBeNull();
  });

  test('of a scenario that is not there is refused', async () => {
    expect(await refusal('search.start', { jobId: 'a', scenarioId: 'none' })).toMatchObject({ code: 'not-found' });
  });
});

describe('events', () => {
  test('a page whose connection broke off gets what it missed', async () => {
    const seen: number[] = [];
    services.subscribe((_event, sequence) => seen.push(sequence));
    await planned(await create());
    const missed: AppEvent[] = [];
    services.subscribe((found) => missed.push(found), seen[0]! - 1);
    expect(missed.map((found) => found.type)).toContain('job-done');
    expect(missed.filter((found) => found.type === 'job-progress' && found.jobId === 'job').length).toBeLessThanOrEqual(
      1,
    );
  });
});

describe('files', () => {
  test('export and import give the same scenario, results included', async () => {
    const record = await planned(await create({ name: 'Größe / 1: “test”' }));
    const { fileName, text } = await call('scenario.export', { id: record.id });
    expect(fileName).toBe('größe-1-test.trainyard');
    const copy = await call('scenario.import', { fileName, text });
    expect(copy.scenario).toEqual(record.scenario);
    const bare = await call('scenario.export', { id: record.id, withResults: false });
    expect(JSON.parse(bare.text)).toEqual({ ...record.scenario, results: null });
  });

  test('results of another planning model, or of another scenario, are left out', async () => {
    const { scenario } = await planned(await create());
    const imported = async (change: object) => {
      const text = JSON.stringify({ ...scenario, ...change });
      const { scenario: kept, warnings } = await call('scenario.import', { fileName: 'a.trainyard', text });
      return { results: kept.results, warnings };
    };
    expect(await imported({})).toEqual({ results: scenario.results, warnings: [] });
    expect(await imported({ results: { ...scenario.results, engineVersion: '0' } })).toEqual({
      results: null,
      warnings: [expect.stringContaining('version 0 of the planning model')],
    });
    expect(await imported({ job: { ...scenario.job, seqLen: 4096 } })).toEqual({
      results: null,
      warnings: [expect.stringContaining('do not belong to this model')],
    });
  });

  test.each<[string, string, Partial<WireError>]>([
    ['half-written', JSON.stringify(small).slice(0, 100), { code: 'invalid-json' }],
    ['empty', '', { code: 'invalid-json' }],
    ['another kind', '{"model_type":"llama"}', { code: 'wrong-format', path: 'format' }],
    ['a list', '[]', { code: 'wrong-format' }],
    ['newer', JSON.stringify({ ...small, version: 2 }), { code: 'newer-version', path: 'version' }],
    ['no model', JSON.stringify({ ...small, model: undefined }), { code: 'invalid-field', path: 'model' }],
    ['infinite', JSON.stringify(small).replace('2048', '1e999'), { code: 'invalid-field', path: 'job.seqLen' }],
  ])('a file that is %s is refused and nothing is added', async (_what, text, error) => {
    const before = await call('scenario.list');
    expect(await refusal('scenario.import', { fileName: 'x.trainyard', text })).toMatchObject({
      ...error,
      remedy: expect.any(String),
    });
    expect(await call('scenario.list')).toEqual(before);
  });
});

describe('drafts', () => {
  test.each<[string, object, Partial<WireError>]>([
    [
      'a text for a number',
      { model: { preset: 'gpt-1t', numLayers: 'many' } },
      { code: 'invalid-field', path: 'model.numLayers' },
    ],
    ['zero', { model: { preset: 'gpt-1t', hiddenSize: 0 } }, { code: 'invalid-field', path: 'model.hiddenSize' }],
    [
      'a negative number',
      { job: { ...small.job, globalBatchSize: -1 } },
      { code: 'invalid-field', path: 'job.globalBatchSize' },
    ],
    ['a fraction of a sequence', { job: { ...small.job, seqLen: 0.5 } }, { code: 'invalid-field', path: 'job.seqLen' }],
    ['NaN', { job: { ...small.job, tokens: Number.NaN } }, { code: 'invalid-field', path: 'job.tokens' }],
    [
      'null for a count',
      { cluster: { accelerator: 'H100', numAccelerators: null } },
      { code: 'invalid-field', path: 'cluster.numAccelerators' },
    ],
    ['a missing field', { job: { seqLen: 2048 } }, { code: 'invalid-field', path: 'job.globalBatchSize' }],
    ['an unknown field', { job: { ...small.job, sequenceLength: 1 } }, { code: 'invalid-field' }],
    ['an unknown model', { model: { preset: 'gpt-9' } }, { code: 'unknown-preset', path: 'model.preset' }],
    [
      'an unknown accelerator',
      { cluster: { accelerator: 'H900', numAccelerators: 8 } },
      { code: 'unknown-preset', path: 'cluster.accelerator' },
    ],
    ['an unknown cluster', { cluster: { preset: 'mine' } }, { code: 'unknown-preset', path: 'cluster.preset' }],
    [
      'a part of a node',
      { cluster: { accelerator: 'H100', numAccelerators: 12 } },
      { code: 'invalid-field', path: 'cluster.numAccelerators' },
    ],
    ['a pin on nothing', { constraints: { pin: { width: [8] } } }, { code: 'invalid-field', path: 'width' }],
    ['a pin of a wrong type', { constraints: { pin: { tp: ['wide'] } } }, { code: 'invalid-field', path: 'tp' }],
    ['an unknown objective', { objective: 'beauty' }, { code: 'invalid-field', path: 'objective' }],
    [
      'what is not planned yet',
      { job: { ...small.job, precision: { compute: 'fp32' } } },
      { code: 'unsupported', path: 'job.precision.compute' },
    ],
    ['a wrong plan', { plan: { tp: 0 } }, { code: 'invalid-field', path: 'plan.tp' }],
  ])('%s is named with its remedy', async (_what, change, error) => {
    const before = await call('scenario.list');
    const scenario = { ...small, ...change };
    for (const [name, input] of Object.entries({
      'scenario.create': { scenario },
      'scenario.preview': { scenario },
      'plan.evaluate': { scenario, plan: { tp: 8 } },
    }))
      expect(await refusal(name, input), name).toMatchObject({ ...error, remedy: expect.stringMatching(/\w/) });
    expect(await call('scenario.list')).toEqual(before);
  });

  test('every fault of a draft is listed', async () => {
    const scenario = { ...small, job: { globalBatchSize: 0, seqLen: 'long' } };
    const { issues } = await refusal('scenario.preview', { scenario });
    expect(issues?.map((issue) => issue.path)).toEqual(['job.globalBatchSize', 'job.seqLen']);
  });

  test('a good draft has totals, and its plans are evaluated', async () => {
    const totals = await call('scenario.preview', { scenario: small });
    expect(totals).toMatchObject({ parameters: 1_235_814_400, tokensPerStep: 64 * 2048 });
    const good = await call('plan.evaluate', { scenario: small, plan: { tp: 1 } });
    expect(good).toMatchObject({ valid: true, violations: [], plan: { dp: 8 } });
    expect(good.estimate?.stepSeconds).toBeGreaterThan(0);
    const bad = await call('plan.evaluate', { scenario: small, plan: { tp: 3 } });
    expect(bad).toMatchObject({ valid: false, estimate: null });
    expect(bad.violations.length).toBeGreaterThan(0);
  });
});

describe('calls', () => {
  test('app.info and catalog.get', async () => {
    expect(await call('app.info')).toMatchObject({ version: '1.2.3', workers: 2 });
    expect((await call('catalog.get')).examples).toHaveLength(3);
  });

  const garbage = [
    null,
    undefined,
    7,
    'x',
    [],
    { nonsense: true },
    { id: 7 },
    { id: '' },
    { jobId: null, scenarioId: {} },
  ];
  test.each(Object.keys(calls))('%s refuses garbage', async (name) => {
    for (const input of garbage)
      expect(await refusal(name, input)).toMatchObject({ code: 'bad-request', message: expect.stringContaining(name) });
  });

  test.each(['', 'nonsense', 'toString', '__proto__', 'constructor', 'scenario'])(
    'there is no call %j',
    async (name) => {
      expect(await refusal(name, {})).toMatchObject({ code: 'bad-request', path: 'name' });
    },
  );
});
