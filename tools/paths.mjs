import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(import.meta.dirname, '..');

/** The Node that the project brings itself. The system's may be older, and better-sqlite3 crashes an older one. */
export const node =
  ['bin/node', 'bin/node.exe'].map((file) => path.join(root, 'node_modules/node', file)).find((f) => existsSync(f)) ??
  process.execPath;

/** An environment in which `node` and the project's programs are the project's own. */
export function projectEnv(extra = {}) {
  const own = [path.join(root, 'node_modules/.bin'), path.dirname(node)];
  return { ...process.env, ...extra, PATH: [...own, process.env.PATH ?? ''].join(path.delimiter) };
}

/**
 * Whether this script was started itself rather than imported.
 * @param {string} url the script's import.meta.url
 */
export function isMain(url) {
  return process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(url);
}
