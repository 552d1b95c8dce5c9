// npm run screenshots: every screen in light and dark, wide and narrow, into docs/screenshots. Looks at the real app.
import { chromium } from '@playwright/test';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { build } from './build.mjs';
import { findChromium } from './chromium.mjs';
import { node, root } from './paths.mjs';

const out = path.join(root, 'docs/screenshots');
const sizes = { '': { width: 1360, height: 900 }, '-narrow': { width: 480, height: 900 } };

/** @param {string} dataDir */
async function startDoor(dataDir) {
  const door = spawn(node, ['out/main/serve.js', '--data-dir', dataDir], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: door.stdout }))
    if (line.startsWith('READY ')) return { door, url: line.slice('READY '.length) };
  throw new Error('the browser door did not start');
}

/** @param {import('@playwright/test').Page} page */
const settled = async (page) => {
  await page.locator('[data-busy="false"]').first().waitFor();
  await page.waitForTimeout(600); // charts fade in
};

/** Screen name → how to get there from the library. */
const screens = {
  library: async () => {},
  /** @param {import('@playwright/test').Page} page */
  wizard: async (page) => page.getByTestId('new-scenario').click(),
  /** @param {import('@playwright/test').Page} page */
  model: async (page) => {
    await page.getByTestId('new-scenario').click();
    await page.getByTestId('step-nav-model').click();
    await page.getByTestId('model-preset').selectOption({ label: 'DeepSeek-V3 (671B)' });
  },
  /** @param {import('@playwright/test').Page} page */
  plans: async (page) => page.getByTestId('card-open').first().click(),
  /** @param {import('@playwright/test').Page} page */
  plan: async (page) => {
    await page.getByTestId('card-open').first().click();
    await page.getByTestId('open-best').click();
  },
  /** @param {import('@playwright/test').Page} page */
  explain: async (page) => {
    await page.getByTestId('card-open').first().click();
    await page.getByTestId('open-best').click();
    await page.getByTestId('explain-mfu').click();
    await page.getByTestId('input-modelFlops').click();
  },
};
/** What lies over the page fills the window; a window as tall as the page would leave it empty. */
const overlays = new Set(['explain']);

if (!build({ onlyIfStale: true, quiet: true })) process.exit(1);
mkdirSync(out, { recursive: true });
const dataDir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-shots-'));
const { door, url } = await startDoor(dataDir);
const executablePath = findChromium();
const browser = await chromium.launch({
  ...(executablePath ? { executablePath } : {}),
  args: ['--no-sandbox', '--disable-gpu'],
});
const context = await browser.newContext({ deviceScaleFactor: 1.25 });
const page = await context.newPage();
await page.goto(url);
await page.getByTestId('card-open').nth(2).waitFor();
await settled(page);
const home = page.url();
for (const [name, open] of Object.entries(screens))
  for (const scheme of /** @type {const} */ (['light', 'dark']))
    for (const [suffix, viewport] of Object.entries(sizes)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(home);
      await page.reload();
      await settled(page);
      await open(page);
      await settled(page);
      // a window as tall as its content, so that what is fixed to its edges is drawn where it belongs
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      if (!overlays.has(name)) await page.setViewportSize({ ...viewport, height: Math.max(viewport.height, height) });
      await settled(page);
      await page.screenshot({ path: path.join(out, `${name}-${scheme}${suffix}.png`) });
      console.log(`${name}-${scheme}${suffix}.png`);
    }
// the README's first picture: what a window shows of the plans
await page.setViewportSize({ width: 1360, height: 860 });
await page.emulateMedia({ colorScheme: 'light' });
await page.goto(home);
await page.reload();
await settled(page);
await screens.plans(page);
await settled(page);
await page.screenshot({ path: path.join(out, 'readme.png') });
await browser.close();
door.kill('SIGTERM');
await new Promise((resolve) => door.once('exit', resolve));
rmSync(dataDir, { recursive: true, force: true });
