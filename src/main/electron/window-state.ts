import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface WindowState {
  width: number;
  height: number;
  x?: number;
  y?: number;
  maximized: boolean;
}

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

const fresh: WindowState = { width: 1360, height: 880, maximized: false };
const least = { width: 640, height: 480 };

function isState(value: unknown): value is WindowState {
  if (typeof value !== 'object' || value === null) return false;
  const { width, height, x, y, maximized } = value as Record<string, unknown>;
  const isPlace = (n: unknown) => n === undefined || Number.isInteger(n);
  return (
    Number.isInteger(width) && Number.isInteger(height) && isPlace(x) && isPlace(y) && typeof maximized === 'boolean'
  );
}

/** The part of a remembered window that fits the screens of today: a second screen may have been unplugged. */
export function fitToScreens(state: WindowState, workAreas: readonly Area[]): WindowState {
  const { x, y, maximized } = state;
  const area = workAreas.find(
    (a) =>
      x !== undefined &&
      y !== undefined &&
      x + 80 >= a.x &&
      x + 80 <= a.x + a.width &&
      y >= a.y &&
      y + 40 <= a.y + a.height,
  );
  const room = area ?? workAreas[0];
  const width = Math.max(least.width, Math.min(state.width, room?.width ?? state.width));
  const height = Math.max(least.height, Math.min(state.height, room?.height ?? state.height));
  const place = area && x !== undefined && y !== undefined ? { x, y } : {};
  return { width, height, ...place, maximized };
}

function fileIn(userData: string): string {
  return path.join(userData, 'window.json');
}

/** The remembered window, or a fresh one where nothing readable is remembered. */
export function readWindowState(userData: string): WindowState {
  try {
    const value: unknown = JSON.parse(readFileSync(fileIn(userData), 'utf8'));
    return isState(value) ? value : fresh;
  } catch {
    return fresh; // first start, or a file cut short: not worth a word to the user
  }
}

/** Remembers a window. A disk that can't be written costs only the memory of its place. */
export function writeWindowState(userData: string, state: WindowState): void {
  try {
    writeFileSync(fileIn(userData), `${JSON.stringify(state)}\n`);
  } catch (error) {
    process.emitWarning(`the window's place was not saved: ${String(error)}`);
  }
}
