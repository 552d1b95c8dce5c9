// npm start: Trainyard in a window of its own, or as a page where Electron's binary can't be had.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { findChromium } from './chromium.mjs';
import { node, root } from './paths.mjs';

const usage = `usage: npm start -- [--browser] [--port N] [--data-dir DIR] [FILE.trainyard]
  --browser       open as a page in a browser, also where Electron is installed
  --port N        port of the page on 127.0.0.1 (default: the usual one, or any free one); implies --browser
  --data-dir DIR  where scenarios are kept`;

const noWindows = process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY;
const noSandbox = process.platform === 'linux' && process.getuid?.() === 0 ? ['--no-sandbox'] : [];

function readArguments() {
  const options = /** @type {const} */ ({
    browser: { type: 'boolean' },
    port: { type: 'string' },
    'data-dir': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}

/** Electron's program, if it is there. Asks the files: requiring 'electron' would start a download. */
function electronProgram() {
  const home = path.join(root, 'node_modules/electron');
  const nameFile = path.join(home, 'path.txt');
  if (!existsSync(nameFile)) return undefined;
  const file = path.join(
    process.env.ELECTRON_OVERRIDE_DIST_PATH ?? path.join(home, 'dist'),
    readFileSync(nameFile, 'utf8').trim(),
  );
  return existsSync(file) ? file : undefined;
}

/**
 * @param {string} dir
 * @returns {number} bytes in all files below
 */
function bytesBelow(dir) {
  return readdirSync(dir, { recursive: true })
    .map((name) => statSync(path.join(dir, String(name)), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);
}

/** Lets Electron's own script fetch its binary; gives up when nothing has arrived for five seconds. */
async function installElectron() {
  const script = path.join(root, 'node_modules/electron/install.js');
  if (!existsSync(script)) return;
  const downloads = mkdtempSync(path.join(os.tmpdir(), 'trainyard-electron-'));
  const env = { ...process.env, TMPDIR: downloads, TEMP: downloads, TMP: downloads };
  const child = spawn(node, [script], { cwd: root, env, stdio: 'ignore' });
  let arrived = 0;
  const watch = setInterval(() => {
    const now = bytesBelow(downloads);
    if (now === arrived) child.kill();
    else if (arrived === 0) console.log('Fetching Electron, once…');
    arrived = now;
  }, 5000);
  await new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  clearInterval(watch);
  rmSync(downloads, { recursive: true, force: true });
}

/**
 * Runs a child to its end, passing on what would end us; Ctrl+C reaches both, and both end in order.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number>} its exit code
 */
function followed(child) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('error', () => resolve(127)).once('exit', (code, signal) => resolve(signal ? 130 : (code ?? 1)));
  });
}

/**
 * The browser door, with a window of a Chrome-like browser on it where there is a screen.
 * @param {string[]} args
 */
async function browserDoor(args) {
  const server = spawn(node, [path.join(root, 'out/main/serve.js'), ...args], {
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  const ended = followed(server);
  const browser = noWindows ? undefined : findChromium();
  let isFirst = true;
  createInterface({ input: server.stdout }).on('line', (line) => {
    const url = /^READY (\S+)/.exec(line)?.[1];
    if (!url) return console.log(line);
    if (isFirst && browser) openAppWindow(browser, url, server);
    else
      console.log(
        `Open this address in a browser on this machine (it works once; Enter gives a new one, Ctrl+C ends):\n  ${url}`,
      );
    isFirst = false;
  });
  return ended;
}

/**
 * @param {string} browser
 * @param {string} url
 * @param {import('node:child_process').ChildProcess} server
 */
function openAppWindow(browser, url, server) {
  // A profile of its own: in the user's, the process would hand over to a running browser and end at once.
  const profile = mkdtempSync(path.join(os.tmpdir(), 'trainyard-window-'));
  const flags = [
    `--app=${url}`,
    `--user-data-dir=${profile}`,
    '--no-first-run',
    '--no-default-browser-check',
    ...noSandbox,
  ];
  const window = spawn(browser, flags, { stdio: 'ignore' });
  const close = () => window.kill();
  process.once('exit', close);
  window.once('error', () => console.log(`Open this address in a browser on this machine:\n  ${url}`));
  window.once('exit', () => {
    process.off('exit', close);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    server.kill('SIGTERM'); // closing the window ends the program
  });
}

const { values, positionals } = readArguments();
if (values.help) {
  console.log(usage);
  process.exit(0);
}
if (!build({ onlyIfStale: true, quiet: true })) {
  console.error('The build failed (see above), so there is nothing to start.');
  process.exit(1);
}
const dataDir = values['data-dir'] === undefined ? undefined : path.resolve(values['data-dir']);
const wantsPage = values.browser === true || values.port !== undefined;
if (!wantsPage && !noWindows && electronProgram() === undefined) await installElectron();
const electron = wantsPage || noWindows ? undefined : electronProgram();
if (electron !== undefined) {
  const own = dataDir === undefined ? [] : [`--user-data-dir=${dataDir}`];
  const files = positionals.map((file) => path.resolve(file));
  const code = await followed(spawn(electron, [...noSandbox, root, ...own, ...files], { stdio: 'inherit' }));
  if (code !== 127) process.exit(code); // 127: the system lacks a library that Electron needs
}
if (!wantsPage)
  console.log(
    noWindows
      ? 'No display here, so Trainyard opens as a page.'
      : "Electron's binary can't be had here, so Trainyard opens as a page.",
  );
const args = [
  ...(values.port === undefined ? [] : ['--port', values.port]),
  ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
];
process.exit(await browserDoor(args));
