import { BrowserWindow, screen, shell, app } from 'electron';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AppEvent } from '#shared/contract.ts';
import { rendererDir } from '../app-paths.ts';
import { channels } from './channels.ts';
import { fitToScreens, readWindowState, writeWindowState } from './window-state.ts';

const page = path.join(rendererDir, 'index.html');
const devServer = app.isPackaged ? undefined : process.env.ELECTRON_RENDERER_URL;

/** Whether an address is our own page: only it may call us, and no window leaves it. */
export function isOurPage(url: string): boolean {
  if (devServer) return URL.parse(url)?.origin === new URL(devServer).origin;
  return url.split(/[?#]/)[0] === pathToFileURL(page).href;
}

/** Links go to the user's browser, and only web links do: any other scheme could start a program. */
function openOutside(url: string) {
  if (URL.parse(url)?.protocol === 'https:') void shell.openExternal(url);
}

function remember(window: BrowserWindow) {
  const { width, height, x, y } = window.getNormalBounds();
  writeWindowState(app.getPath('userData'), { width, height, x, y, maximized: window.isMaximized() });
}

/** Sends an event to one window's page. */
export function sendTo(window: BrowserWindow, event: AppEvent): void {
  if (!window.isDestroyed()) window.webContents.send(channels.event, event);
}

/** Opens a window on the page, where the last one stood. */
export function openWindow(): BrowserWindow {
  const screens = screen.getAllDisplays().map((display) => display.workArea);
  const { maximized, ...bounds } = fitToScreens(readWindowState(app.getPath('userData')), screens);
  const window = new BrowserWindow({
    ...bounds,
    minWidth: 640,
    minHeight: 480,
    title: 'Trainyard',
    show: false, // until there is something to see
    webPreferences: {
      preload: path.join(import.meta.dirname, '../preload/preload.cjs'),
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      webSecurity: true,
      spellcheck: false,
    },
  });
  window.once('ready-to-show', () => {
    if (maximized) window.maximize();
    window.show();
  });
  window.on('close', () => remember(window));
  window.webContents.setWindowOpenHandler(({ url }) => {
    openOutside(url);
    return { action: 'deny' };
  });
  window.webContents.on('will-navigate', (event, url) => {
    if (isOurPage(url)) return;
    event.preventDefault();
    openOutside(url);
  });
  void (devServer ? window.loadURL(devServer) : window.loadFile(page));
  return window;
}
