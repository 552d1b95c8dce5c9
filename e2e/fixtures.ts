import { _electron, test as base, expect, type Browser, type ElectronApplication, type Page } from '@playwright/test';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { node } from '../tools/paths.mjs';

const root = path.resolve(import.meta.dirname, '..');

/** Whether the specs run in Electron itself; else in the stand-in, which runs the same built main and preload. */
export const isRealElectron = existsSync(path.join(root, 'node_modules/electron/path.txt'));
// _electron.launch looks for the binary in this very process, so its own `env` would come too late.
if (!isRealElectron) process.env.ELECTRON_OVERRIDE_DIST_PATH = path.join(root, 'e2e/electron-standin');

/** Starts the browser door as a user would; `url` lets one browser in, once. */
export async function startDoor(dataDir: string, args: readonly string[] = []) {
  const child = spawn(node, ['out/main/serve.js', '--data-dir', dataDir, ...args], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function nextUrl(): Promise<string> {
    const line = (await lines.next()).value;
    if (line?.startsWith('READY ')) return line.slice('READY '.length);
    throw new Error(`the browser door said '${line ?? 'nothing'}' instead of its address`);
  }
  return {
    url: await nextUrl(),
    /** What pressing Enter in the terminal does. */
    async askForUrl() {
      child.stdin.write('\n');
      return nextUrl();
    },
    async stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}
export type Door = Awaited<ReturnType<typeof startDoor>>;

/** Starts the window. */
export function startElectron(dataDir: string, args: readonly string[] = []): Promise<ElectronApplication> {
  const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return _electron.launch({ args: [...asRoot, root, `--user-data-dir=${dataDir}`, ...args], cwd: root });
}

/** Collects what a page complains about; a test that leaves anything here fails. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.stack ?? error.message}`));
  return complaints;
}

export type Shell = 'http' | 'electron';
interface TestFixtures {
  dataDir: string;
  /** The window's main process; undefined in the browser project. */
  electronApp: ElectronApplication | undefined;
  /** The running browser door; undefined in the electron project. */
  door: Door | undefined;
  /** Texts (parts of them) that this test expects among the page's errors. */
  expectedErrors: string[];
  /** The app's page, in whichever shell the project runs. */
  appPage: Page;
}

export const test = base.extend<TestFixtures, { shell: Shell; chrome: Browser | undefined }>({
  shell: ['http', { option: true, scope: 'worker' }],
  expectedErrors: [[], { option: true }],
  // not Playwright's own `browser`: asking for that would start one in the electron project too
  chrome: [
    async ({ shell, playwright, launchOptions }, use) => {
      const chrome = shell === 'http' ? await playwright.chromium.launch(launchOptions) : undefined;
      await use(chrome);
      await chrome?.close();
    },
    { scope: 'worker' },
  ],
  // eslint-disable-next-line no-empty-pattern -- Playwright reads the pattern
  dataDir: async ({}, use) => {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-e2e-'));
    await use(dir);
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  },
  electronApp: async ({ shell, dataDir }, use) => {
    if (shell !== 'electron') return use(undefined);
    const app = await startElectron(dataDir);
    await use(app);
    await app.close();
  },
  door: async ({ shell, dataDir }, use) => {
    if (shell !== 'http') return use(undefined);
    const door = await startDoor(dataDir);
    await use(door);
    expect(await door.stop(), 'exit code of the browser door').toBe(0);
  },
  appPage: async ({ electronApp, door, chrome, expectedErrors }, use) => {
    const context = await chrome?.newContext({ viewport: { width: 1360, height: 880 } });
    const page = (await context?.newPage()) ?? (await electronApp!.firstWindow());
    const complaints = complaintsOf(page);
    if (door) await page.goto(door.url);
    await page.locator('#app > *').first().waitFor(); // a window's first document may still be about:blank
    await use(page);
    const unexpected = complaints.filter((text) => !expectedErrors.some((part) => text.includes(part)));
    expect(unexpected, 'errors on the page').toEqual([]);
    await context?.close();
  },
});

/** Waits, in the library of a first start, until the searches of the examples have ended and said so. */
export async function examplesPlanned(page: Page): Promise<void> {
  for (const name of ['GPT 1T', 'Llama 3.1 405B', 'Llama 3.1 8B'])
    await expect(page.getByTestId('scenario-card').filter({ hasText: name })).toContainText('MFU');
}

export { expect } from '@playwright/test';
