import { defineConfig } from '@playwright/test';
import type { Shell } from './e2e/fixtures.ts';
import { findChromium } from './tools/chromium.mjs';

const executablePath = findChromium();

export default defineConfig<object, { shell: Shell }>({
  testDir: 'e2e',
  // far above what an idle machine needs: a busy one must not fail a test
  timeout: 240_000,
  expect: { timeout: 60_000 },
  workers: 2,
  forbidOnly: process.env.CI !== undefined,
  use: { trace: 'retain-on-failure', screenshot: 'only-on-failure' },
  projects: [
    {
      name: 'browser',
      testIgnore: 'electron.spec.ts',
      use: {
        shell: 'http',
        launchOptions: {
          ...(executablePath ? { executablePath } : {}),
          args: [
            '--no-sandbox',
            '--disable-gpu',
            '--disable-quic',
            '--no-first-run',
            '--disable-background-networking',
          ],
        },
      },
    },
    { name: 'electron', testIgnore: 'browser.spec.ts', use: { shell: 'electron' } },
  ],
});
