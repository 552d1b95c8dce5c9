// npm run build; with --if-stale only when the sources are newer than what was built.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isMain, node, projectEnv, root } from './paths.mjs';

const stamp = path.join(root, 'out/.built');
const lock = path.join(root, 'node_modules/.cache/trainyard-build');
const sources = ['src', 'electron.vite.config.ts', 'package.json', 'package-lock.json'];
const products = ['main/index.js', 'main/serve.js', 'main/cli.js', 'preload/preload.cjs', 'renderer/index.html'];

/**
 * Time of the newest source, in ms. Folders count too: a deleted file changes only its folder.
 * @param {string} entry
 * @returns {number}
 */
function newest(entry) {
  const stat = statSync(entry, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  const inside = readdirSync(entry).filter((name) => !name.endsWith('.test.ts'));
  return Math.max(stat.mtimeMs, ...inside.map((name) => newest(path.join(entry, name))));
}

/** Whether out/ is missing, incomplete or older than a source. */
export function isStale() {
  const built = statSync(stamp, { throwIfNoEntry: false });
  if (!built || products.some((file) => !existsSync(path.join(root, 'out', file)))) return true;
  return sources.some((entry) => newest(path.join(root, entry)) > built.mtimeMs);
}

/** Waits for a build that another process has begun; a lock left by a killed one is taken over after two minutes. */
function takeLock() {
  mkdirSync(path.dirname(lock), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      if (since > 0 && Date.now() - since > 120_000) rmSync(lock, { recursive: true, force: true });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}

/**
 * Builds the three programs and the page into out/. Everything the build says goes to standard error, so that a
 * command's own standard output stays clean.
 * @param {{ onlyIfStale?: boolean, quiet?: boolean }} [options]
 * @returns {boolean} whether out/ is good now
 */
export function build({ onlyIfStale = false, quiet = false } = {}) {
  if (onlyIfStale && !isStale()) return true;
  takeLock();
  try {
    if (onlyIfStale && !isStale()) return true; // another process has built it meanwhile
    const started = new Date();
    const cli = path.join(root, 'node_modules/electron-vite/bin/electron-vite.js');
    const args = [cli, 'build', ...(quiet ? ['--logLevel', 'warn'] : [])];
    const result = spawnSync(node, args, { cwd: root, env: projectEnv(), stdio: ['ignore', 2, 2] });
    if (result.status !== 0) return false;
    writeFileSync(stamp, '');
    utimesSync(stamp, started, started); // a source saved during the build counts as newer
    return true;
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) process.exit(build({ onlyIfStale: process.argv.includes('--if-stale') }) ? 0 : 1);
