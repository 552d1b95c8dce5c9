// Finds a Chrome-like browser, and installs Debian's where tests need one and this user may.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { isMain } from './paths.mjs';

const onPath = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'microsoft-edge',
  'brave-browser',
];

function places() {
  const env = process.env;
  if (process.platform === 'darwin')
    return ['Google Chrome', 'Chromium', 'Microsoft Edge'].map((n) => `/Applications/${n}.app/Contents/MacOS/${n}`);
  if (process.platform === 'win32')
    return [env.PROGRAMFILES, env['PROGRAMFILES(X86)'], env.LOCALAPPDATA]
      .filter((dir) => dir !== undefined)
      .flatMap((dir) =>
        ['Google/Chrome/Application/chrome.exe', 'Microsoft/Edge/Application/msedge.exe'].map((f) => path.join(dir, f)),
      );
  const dirs = (env.PATH ?? '').split(path.delimiter);
  return onPath.flatMap((name) => [...dirs, '/usr/bin'].map((dir) => path.join(dir, name)));
}

/**
 * An installed Chrome-like browser: CHROMIUM_PATH if it is set, else the first that is found.
 * @returns {string | undefined}
 */
export function findChromium() {
  return [process.env.CHROMIUM_PATH, ...places()].find((file) => file !== undefined && existsSync(file));
}

/** @param {string[]} args */
function apt(args) {
  const all = ['-qq', '-y', '-o', 'DPkg::Lock::Timeout=300', ...args];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', all, { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
}

/**
 * Makes sure that the end-to-end tests have a browser.
 * @returns {Promise<boolean>} false after saying what to do
 */
export async function ensureChromium() {
  if (findChromium() !== undefined) return true;
  const { chromium } = await import('@playwright/test'); // loaded only here: npm start has no use for it
  if (existsSync(chromium.executablePath())) return true;
  const mayInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (mayInstall) {
    console.log('Installing Chromium for the end-to-end tests…');
    if (apt(['update']) && apt(['install', '--no-install-recommends', 'chromium']) && findChromium()) return true;
  }
  console.error(
    'The end-to-end tests need a Chrome-like browser and found none. Install one (`sudo apt-get install chromium`,\n' +
      'or `npx playwright install chromium`), or set CHROMIUM_PATH to the program of one.',
  );
  return false;
}

if (isMain(import.meta.url)) process.exit((await ensureChromium()) ? 0 : 1);
