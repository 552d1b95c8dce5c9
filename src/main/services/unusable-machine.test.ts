import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServices } from './index.ts';

const resourcesDir = path.resolve(import.meta.dirname, '../../../resources');
let dataDir: string;
beforeEach(() => void (dataDir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-machine-'))));
afterEach(() => rmSync(dataDir, { recursive: true }));

test('a data folder that cannot be made is named', () => {
  writeFileSync(path.join(dataDir, 'file'), '');
  const bad = path.join(dataDir, 'file', 'data');
  expect(() => createServices({ dataDir: bad, resourcesDir, appVersion: '1' })).toThrow(
    expect.objectContaining({ code: 'database-unavailable', path: bad }),
  );
});

test('a damaged file of the program is named', () => {
  expect(() => createServices({ dataDir, resourcesDir: dataDir, appVersion: '1' })).toThrow(
    expect.objectContaining({ code: 'file-unreadable', path: path.join(dataDir, 'catalog/hardware') }),
  );
});
