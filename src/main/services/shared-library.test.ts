import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { calls, type CallName, type CallOutput } from '#shared/contract.ts';
import { createServices, type Services } from './index.ts';

const resourcesDir = path.resolve(import.meta.dirname, '../../../resources');

async function call<N extends CallName>(services: Services, name: N, input: unknown = {}): Promise<CallOutput<N>> {
  const reply = await services.request(name, input);
  if (!reply.ok) throw new Error(reply.error.message);
  return calls[name].output.parse(reply.value) as CallOutput<N>;
}

test('the window and the browser door may share one library', async () => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-shared-'));
  const start = () => createServices({ dataDir, resourcesDir, appVersion: '1', numWorkers: 1 });
  const [one, two] = [start(), start()];
  try {
    const [card] = await call(one, 'scenario.list');
    expect((await call(two, 'scenario.list')).map(({ id }) => id)).toEqual(
      (await call(one, 'scenario.list')).map(({ id }) => id),
    );
    const { id, revision, scenario } = await call(two, 'scenario.get', { id: card!.id });
    await call(one, 'scenario.rename', { id, name: 'Renamed in the window' });
    expect(await two.request('scenario.update', { id, revision, scenario })).toMatchObject({
      ok: false,
      error: { code: 'conflict' },
    });
    expect((await call(two, 'scenario.get', { id })).scenario.name).toBe('Renamed in the window');
  } finally {
    await Promise.all([one.close(), two.close()]);
    rmSync(dataDir, { recursive: true });
  }
});
