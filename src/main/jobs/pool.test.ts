import path from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { countPlans, mergeSlices, searchSlice } from '#shared/engine/index.ts';
import type { SearchResult } from '#shared/schema/index.ts';
import { Planner } from '../services/planner.ts';
import { SearchPool, type SearchProgress } from './pool.ts';

const planner = new Planner({ resourcesDir: path.resolve(import.meta.dirname, '../../../resources') });
const problemOf = (id: string) =>
  planner.problemOf(planner.catalog.examples.find((example) => example.id === id)!.scenario);
const problem = problemOf('gpt-1t');

const pools: SearchPool[] = [];
function poolOf(...args: ConstructorParameters<typeof SearchPool>): SearchPool {
  const pool = new SearchPool(...args);
  pools.push(pool);
  return pool;
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

const realWorker = (options: WorkerOptions) => new Worker(new URL('./search.worker.ts', import.meta.url), options);
const scripted = (code: string) => (options: WorkerOptions) =>
  new Worker(
    `require('node:worker_threads').parentPort.on('message', (m) => { if (m.type === 'slice') { ${code} } })`,
    {
      ...options,
      eval: true,
    },
  );

function untimed({ stats, ...result }: SearchResult) {
  return { ...result, stats: { ...stats, seconds: 0, workers: 0 } };
}
async function resultOf(pool: SearchPool, of = problem, top = 10) {
  const outcome = await pool.start(of, { top }).finished;
  if (outcome.type !== 'done') throw new Error(outcome.type);
  return untimed(outcome.result);
}

describe('SearchPool', () => {
  test('finds what one thread finds, to the last byte, with any number of workers', async () => {
    const whole = searchSlice(problem, { index: 0, total: 1, top: 10 });
    const expected = untimed(mergeSlices(problem, [whole], 10, { seconds: 0, workers: 0 }));
    const one = await resultOf(poolOf(1));
    const three = await resultOf(poolOf(3));
    expect(one).toEqual(expected);
    expect(JSON.stringify(three)).toBe(JSON.stringify(one));
  });

  test('tells progress from 0 on, at most ten times a second, never backwards', async () => {
    const seen: SearchProgress[] = [];
    const started = performance.now();
    await poolOf(2).start(problem, { top: 3, onProgress: (progress) => seen.push(progress) }).finished;
    const total = countPlans(problem);
    expect(seen[0]).toEqual({ done: 0, total, best: null });
    expect(seen.length).toBeLessThanOrEqual(2 + (performance.now() - started) / 100);
    const done = seen.map((progress) => progress.done);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(Math.max(...done)).toBeLessThanOrEqual(total);
  });

  test('two searches run side by side and do not mix', async () => {
    const pool = poolOf(2);
    const other = problemOf('llama-3.1-8b');
    const [a, b] = await Promise.all([resultOf(pool), resultOf(pool, other)]);
    expect(a).toEqual(await resultOf(pool));
    expect(b).toEqual(await resultOf(pool, other));
    expect(a.stats.enumerated).toBe(countPlans(problem));
    expect(b.stats.enumerated).toBe(countPlans(other));
  });

  test('a cancelled search ends as cancelled, and the pool goes on', async () => {
    const pool = poolOf(2);
    const search = pool.start(problem, { top: 3 });
    search.cancel();
    search.cancel();
    expect(await search.finished).toMatchObject({ type: 'cancelled', total: countPlans(problem) });
    expect((await resultOf(pool)).best.length).toBeGreaterThan(0);
  });

  test('a worker that does not stop when asked is ended', async () => {
    let started = 0;
    const pool = poolOf(1, (options) => (started++ === 0 ? scripted('for (;;);')(options) : realWorker(options)));
    const search = pool.start(problem, { top: 3 });
    const asked = performance.now();
    search.cancel();
    expect(await search.finished).toMatchObject({ type: 'cancelled' });
    expect(performance.now() - asked).toBeGreaterThan(450);
    expect((await resultOf(pool)).best.length).toBeGreaterThan(0);
  });

  test('the slice of a worker that dies is done by another', async () => {
    let started = 0;
    const pool = poolOf(2, (options) => (started++ === 0 ? scripted('process.exit(3)')(options) : realWorker(options)));
    expect(await resultOf(pool)).toEqual(await resultOf(poolOf(1)));
  });

  test('a slice that kills every worker fails its search with the reason', async () => {
    const pool = poolOf(2, scripted('throw new Error("out of luck")'));
    await expect(pool.start(problem, { top: 3 }).finished).rejects.toThrow(/died twice.*out of luck/);
  });

  test('a fault of the engine fails the search at once', async () => {
    const broken = { ...problem, device: { ...problem.device, kernelCurves: 'no-such-part' } };
    await expect(poolOf(2).start(broken, { top: 3 }).finished).rejects.toThrow(/the search failed: .*no-such-part/);
  });

  test('closing ends what runs as cancelled', async () => {
    const pool = poolOf(2);
    const search = pool.start(problem, { top: 3 });
    await pool.close();
    expect(await search.finished).toMatchObject({ type: 'cancelled' });
  });
});
