import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { appVersion, defaultDataDir, resourcesDir } from './app-paths.ts';

test('finds the package', () => {
  const json = readFileSync(path.join(resourcesDir, '../package.json'), 'utf8');
  expect((JSON.parse(json) as { version: string }).version).toBe(appVersion());
  expect(existsSync(path.join(resourcesDir, 'catalog'))).toBe(true);
});

const home = os.homedir();
test.each<[NodeJS.Platform, NodeJS.ProcessEnv, string]>([
  ['linux', {}, path.join(home, '.config/Trainyard')],
  ['linux', { XDG_CONFIG_HOME: '/config' }, '/config/Trainyard'],
  ['darwin', { XDG_CONFIG_HOME: '/config' }, path.join(home, 'Library/Application Support/Trainyard')],
  ['win32', { APPDATA: '/roaming' }, '/roaming/Trainyard'],
  ['win32', { APPDATA: '/roaming', TRAINYARD_DATA_DIR: '/mine' }, '/mine'],
])('on %s with %j, scenarios are in %s', (platform, env, expected) => {
  expect(defaultDataDir(env, platform)).toBe(expected);
});
