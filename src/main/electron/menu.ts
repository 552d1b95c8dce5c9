import { Menu, type MenuItemConstructorOptions } from 'electron';
import type { AppEvent } from '#shared/contract.ts';

export type MenuCommand = Extract<AppEvent, { type: 'menu' }>['command'];

export interface MenuActions {
  /** Lets the page of the window in front carry out a command. */
  send(command: MenuCommand): void;
  newWindow(): void;
  importFile(): void;
}

interface Options {
  isMac: boolean;
  /** Whether the items that only a developer needs are shown. */
  isDevelopment: boolean;
}

const separator: MenuItemConstructorOptions = { type: 'separator' };

function fileMenu(actions: MenuActions, isMac: boolean): MenuItemConstructorOptions {
  const item = (id: MenuCommand, label: string, accelerator: string): MenuItemConstructorOptions => ({
    id,
    label,
    accelerator,
    click: () => actions.send(id),
  });
  return {
    label: '&File',
    submenu: [
      item('new-scenario', 'New Scenario', 'CmdOrCtrl+N'),
      { id: 'new-window', label: 'New Window', accelerator: 'CmdOrCtrl+Shift+N', click: () => actions.newWindow() },
      separator,
      { id: 'import', label: 'Import…', accelerator: 'CmdOrCtrl+O', click: () => actions.importFile() },
      item('export', 'Export…', 'CmdOrCtrl+Shift+E'),
      separator,
      { role: 'close' },
      ...(isMac ? [] : [{ role: 'quit' } as const]),
    ],
  };
}

function viewMenu(actions: MenuActions, isDevelopment: boolean): MenuItemConstructorOptions {
  const theme = (id: MenuCommand, label: string) => ({ id, label, click: () => actions.send(id) });
  return {
    label: '&View',
    submenu: [
      { id: 'library', label: 'Library', accelerator: 'CmdOrCtrl+L', click: () => actions.send('library') },
      { id: 'search', label: 'Search for Plans', click: () => actions.send('search') },
      {
        label: 'Theme',
        submenu: [theme('theme-system', 'As the System'), theme('theme-light', 'Light'), theme('theme-dark', 'Dark')],
      },
      separator,
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
      { role: 'togglefullscreen' },
      ...(isDevelopment ? [separator, { role: 'reload' } as const, { role: 'toggleDevTools' } as const] : []),
    ],
  };
}

/** The application's menu. Items that act on a document are commands for the page; it alone knows what is open. */
export function buildMenu(actions: MenuActions, { isMac, isDevelopment }: Options): Menu {
  const about: MenuItemConstructorOptions = {
    id: 'about',
    label: 'About Trainyard',
    click: () => actions.send('about'),
  };
  return Menu.buildFromTemplate([
    ...(isMac
      ? [
          {
            label: 'Trainyard',
            submenu: [about, separator, { role: 'hide' }, { role: 'quit' }],
          } as MenuItemConstructorOptions,
        ]
      : []),
    fileMenu(actions, isMac),
    { role: 'editMenu' },
    viewMenu(actions, isDevelopment),
    { role: 'windowMenu' },
    { role: 'help', submenu: isMac ? [] : [about] },
  ]);
}
