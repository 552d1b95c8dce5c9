import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fitToScreens, readWindowState, writeWindowState } from './window-state.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-window-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const fresh = { width: 1360, height: 880, maximized: false };

test('what is written is read back', () => {
  const state = { width: 900, height: 700, x: -50, y: 20, maximized: true };
  writeWindowState(dir, state);
  expect(readWindowState(dir)).toEqual(state);
});

test.each(['', '{"width":900', '[]', 'null', '{"width":"900","height":700,"maximized":false}', '{"width":900}'])(
  'a file that says %j counts as none',
  (text) => {
    writeFileSync(path.join(dir, 'window.json'), text);
    expect(readWindowState(dir)).toEqual(fresh);
  },
);

test.each([
  ['stays where its title bar can be reached', { x: 100, y: 50 }, { x: 100, y: 50 }],
  ['forgets a place on a screen that is gone', { x: 2500, y: 50 }, {}],
  ['forgets a place above the screen', { x: 100, y: -300 }, {}],
  ['lets the system choose where it has no place', {}, {}],
])('a window %s', (_what, place, expected) => {
  const screens = [{ x: 0, y: 0, width: 1920, height: 1080 }];
  expect(fitToScreens({ ...fresh, ...place }, screens)).toEqual({ ...fresh, ...expected });
});

test('a window is no larger than the screen it is on', () => {
  const screens = [
    { x: 0, y: 0, width: 1920, height: 1080 },
    { x: 1920, y: 0, width: 1024, height: 700 },
  ];
  expect(fitToScreens({ ...fresh, x: 2000, y: 10 }, screens)).toMatchObject({ width: 1024, height: 700, x: 2000 });
});
