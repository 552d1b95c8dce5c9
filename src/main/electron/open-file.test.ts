import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filesIn, maxFileBytes, readChosenFile } from './open-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-open-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(name: string, content: string | Buffer) {
  const file = path.join(dir, name);
  writeFileSync(file, content);
  return file;
}

test('gives the name and the text, without a byte order mark', async () => {
  const file = put('größe.trainyard', '\uFEFF{"a": "µ"}');
  expect(await readChosenFile(file)).toEqual({ name: 'größe.trainyard', text: '{"a": "µ"}' });
});

test.each([
  ['large.json', Buffer.alloc(maxFileBytes + 1), /more than 8 MiB/],
  ['binary.json', Buffer.from([0xff, 0xfe, 0x00]), /not UTF-8/],
])('refuses %s and says why', async (name, content, message) => {
  await expect(readChosenFile(put(name, content))).rejects.toMatchObject({
    code: 'file-unreadable',
    message: expect.stringMatching(message),
    remedy: expect.any(String),
  });
});

test('refuses what is missing or a folder', async () => {
  await expect(readChosenFile(path.join(dir, 'none.json'))).rejects.toMatchObject({ message: /ENOENT/ });
  await expect(readChosenFile(dir)).rejects.toMatchObject({ code: 'file-unreadable' });
});

test('takes only scenario files from a command line', () => {
  expect(filesIn(['electron', '.', '--user-data-dir=/x.trainyard', 'a.trainyard', 'b.json', 'C.TRAINYARD'])).toEqual([
    'a.trainyard',
    'C.TRAINYARD',
  ]);
});
