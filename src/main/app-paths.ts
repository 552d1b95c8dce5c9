import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The nearest folder above that has our package.json: the repository, or the packed app's root. */
function findRoot(): string {
  // Bundled code may stand in out/main or out/main/chunks, and tests run it from src/main.
  for (let dir = import.meta.dirname; path.dirname(dir) !== dir; dir = path.dirname(dir)) {
    if (existsSync(path.join(dir, 'package.json'))) return dir;
  }
  throw new Error(`no package.json above ${import.meta.dirname}`);
}

const root = findRoot();

/** The catalog, evidence and calibration files that are shipped with the program. */
export const resourcesDir = path.join(root, 'resources');

/** The built page. */
export const rendererDir = path.join(root, 'out/renderer');

/** The version in package.json. */
export function appVersion(): string {
  const json: unknown = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  if (typeof json === 'object' && json !== null && 'version' in json && typeof json.version === 'string')
    return json.version;
  throw new Error('package.json has no version');
}

/**
 * Where scenarios are kept unless the user says otherwise. It is the folder that Electron calls `userData`, so that the
 * window, the browser door and the command line share one library.
 */
export function defaultDataDir(env: NodeJS.ProcessEnv = process.env, platform: NodeJS.Platform = process.platform) {
  if (env.TRAINYARD_DATA_DIR) return path.resolve(env.TRAINYARD_DATA_DIR);
  const home = os.homedir();
  const configDirs: Partial<Record<NodeJS.Platform, string>> = {
    darwin: path.join(home, 'Library/Application Support'),
    win32: env.APPDATA ?? path.join(home, 'AppData/Roaming'),
  };
  return path.join(configDirs[platform] ?? env.XDG_CONFIG_HOME ?? path.join(home, '.config'), 'Trainyard');
}
