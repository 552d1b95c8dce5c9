import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { examplesPlanned, expect, isRealElectron, startElectron, test } from './fixtures.ts';

interface Bridge {
  kind: string;
  request(name: unknown, input: unknown): Promise<{ ok: boolean; error?: { code: string } }>;
  subscribe(listener: (event: { type: string }) => void): () => void;
}
type WithBridge = typeof globalThis & { trainyard: Bridge; heard?: { type: string }[] };

/** Keeps what a page hears from now on, for `heardBy`; the searches of the first start are over by then. */
async function listen(page: Page) {
  await examplesPlanned(page);
  await page.evaluate(() => {
    const here = globalThis as WithBridge;
    const heard: { type: string }[] = [];
    here.heard = heard;
    here.trainyard.subscribe((event) => heard.push(event));
  });
}
function heardBy(page: Page) {
  return page.evaluate(() => (globalThis as WithBridge).heard);
}

test.beforeAll(() => {
  if (!isRealElectron) console.log('Electron has no binary here: its built main and preload run in the stand-in.');
});

test('the preload gives the page three frozen things and nothing else', async ({ appPage: page }) => {
  const seen = await page.evaluate(async () => {
    const { trainyard } = globalThis as WithBridge;
    const unknown = await trainyard.request('no.such-call', {});
    const notAName = await trainyard.request({ evil: true }, {});
    try {
      trainyard.kind = 'changed';
    } catch {
      // frozen
    }
    return {
      keys: Object.keys(trainyard).sort(),
      kind: trainyard.kind,
      codes: [unknown.error?.code, notAName.error?.code],
    };
  });
  expect(seen).toEqual({
    keys: ['kind', 'request', 'subscribe'],
    kind: 'electron',
    codes: ['bad-request', 'forbidden'],
  });
});

test('menu commands reach the page in front, and a second window is one more page', async ({
  electronApp,
  appPage,
}) => {
  const app = electronApp!;
  await listen(appPage);
  const click = (id: string) =>
    app.evaluate(({ Menu }, item) => Menu.getApplicationMenu()?.getMenuItemById(item)?.click(), id);
  for (const id of ['new-scenario', 'export', 'library', 'theme-dark', 'about']) await click(id);
  await expect
    .poll(() => heardBy(appPage))
    .toEqual(
      ['new-scenario', 'export', 'library', 'theme-dark', 'about'].map((command) => ({ type: 'menu', command })),
    );

  const opened = app.waitForEvent('window');
  await click('new-window');
  const second = await opened;
  await second.getByRole('heading', { level: 1 }).waitFor();
  expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(2);
  await second.close();
  await expect.poll(() => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
});

test('Import… reads the chosen file in the main process and hands its text to the page', async ({
  electronApp,
  appPage,
  dataDir,
}) => {
  const app = electronApp!;
  await listen(appPage);
  const good = path.join(dataDir, 'mine.trainyard');
  writeFileSync(good, '{"größe": 1}');
  const large = path.join(dataDir, 'large.json');
  writeFileSync(large, ' '.repeat(9 * 2 ** 20));
  const choose = (file: string) =>
    app.evaluate(({ dialog, Menu }, chosen) => {
      const told = globalThis as { told?: string };
      dialog.showOpenDialog = () => Promise.resolve({ canceled: false, filePaths: [chosen] });
      dialog.showMessageBox = (...args: unknown[]) => {
        told.told = (args[1] as { message: string }).message;
        return Promise.resolve({ response: 0, checkboxChecked: false });
      };
      Menu.getApplicationMenu()?.getMenuItemById('import')?.click();
    }, file);
  await choose(large);
  await expect
    .poll(() => app.evaluate(() => (globalThis as { told?: string }).told))
    .toBe('large.json has 9437184 bytes, more than 8 MiB.');
  await choose(good);
  await expect
    .poll(() => heardBy(appPage))
    .toEqual([{ type: 'file-opened', name: 'mine.trainyard', text: '{"größe": 1}' }]);
});

test('a file named on the command line waits until the page listens', async ({ dataDir }) => {
  const file = path.join(dataDir, 'given.trainyard');
  writeFileSync(file, '{"half": ');
  const app = await startElectron(dataDir, [file]);
  const page = await app.firstWindow();
  await expect(page.getByText('Could not import given.trainyard').first()).toBeVisible();
  await app.close();
});

test('no window is opened by a page, and none leaves the page', async ({ electronApp, appPage: page }) => {
  const asked: string[] = [];
  const elsewhere = http.createServer((req, res) => {
    asked.push(req.url ?? '');
    res.end('elsewhere');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  const before = page.url();
  await page.evaluate((url) => void window.open(url), `${origin}/popup`);
  await page.evaluate((url) => location.assign(url), `${origin}/away`);
  await page.waitForTimeout(500); // that nothing happens has no event to wait for
  expect(page.url()).toBe(before);
  expect(electronApp!.windows().length).toBe(1);
  expect(asked).toEqual([]);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  elsewhere.close();
});

test('closing the last window ends the program and remembers where it stood', async ({
  electronApp,
  appPage,
  dataDir,
}) => {
  test.skip(process.platform === 'darwin', 'a program without windows keeps running on macOS');
  const app = electronApp!;
  const exited = new Promise((resolve) => app.process().once('exit', resolve));
  await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.close());
  expect(await exited).toBe(0);
  const file = path.join(dataDir, 'window.json');
  expect(existsSync(file)).toBe(true);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ width: 1360, height: 880, maximized: false });
  expect(appPage.isClosed()).toBe(true);
});
