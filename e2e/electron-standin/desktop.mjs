// The parts of Electron that a test drives or looks at: menus, dialogs, the shell, the clipboard, the screens.
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { strict } from './strict.mjs';

async function fileResponse(u) {
  const type = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }[
    path.extname(new URL(u).pathname)
  ];
  return new Response(readFileSync(new URL(u)), { headers: { 'content-type': type ?? 'application/octet-stream' } });
}

const absent = [
  'Tray',
  'Notification',
  'safeStorage',
  'utilityProcess',
  'globalShortcut',
  'powerMonitor',
  'nativeImage',
];

export function createDesktop({ quit, focusedWindow, schemes }) {
  class MenuItem {
    constructor(o) {
      Object.assign(this, { enabled: true, visible: true, checked: false, ...o });
      if (Array.isArray(o.submenu)) this.submenu = Menu.buildFromTemplate(o.submenu);
      this.click = () => (o.role === 'quit' ? quit() : o.click?.(this, focusedWindow(), {}));
    }
  }
  class Menu {
    static #app = null;
    items = [];
    static buildFromTemplate = (t) => Object.assign(new Menu(), { items: t.map((o) => new MenuItem(o)) });
    static setApplicationMenu = (m) => void (Menu.#app = m);
    static getApplicationMenu = () => Menu.#app;
    getMenuItemById(id) {
      for (const i of this.items) {
        const hit = i.id === id ? i : i.submenu?.getMenuItemById(id);
        if (hit) return hit;
      }
      return null;
    }
    popup() {}
  }
  const dialog = strict('dialog', {
    showOpenDialog: async () => ({ canceled: true, filePaths: [] }),
    showSaveDialog: async () => ({ canceled: true, filePath: '' }),
    showMessageBox: async () => ({ response: 0, checkboxChecked: false }),
    showErrorBox: (t, c) => console.error('[dialog]', t, c),
  });
  const shell = strict('shell', {
    opened: [],
    openExternal: async (u) => void shell.opened.push(u),
    openPath: async () => '',
    showItemInFolder() {},
  });
  const protocol = strict('protocol', {
    registerSchemesAsPrivileged() {},
    handle: (s, fn) => void schemes.set(s, fn),
    unhandle: (s) => void schemes.delete(s),
  });
  // the handlers are kept but not enforced: Chromium is started with its own rules
  const session = {
    defaultSession: strict('session', { protocol, setPermissionRequestHandler() {}, setPermissionCheckHandler() {} }),
  };
  const clipboard = strict('clipboard', {
    text: '',
    writeText: (t) => void (clipboard.text = t),
    readText: () => clipboard.text,
  });
  const workArea = { x: 0, y: 0, width: 1920, height: 1080 };
  return {
    Menu,
    MenuItem,
    dialog,
    shell,
    protocol,
    session,
    clipboard,
    nativeTheme: Object.assign(new EventEmitter(), { shouldUseDarkColors: false, themeSource: 'system' }),
    net: { fetch: (u, o) => (String(u).startsWith('file:') ? fileResponse(u) : fetch(u, o)) },
    screen: strict('screen', { getAllDisplays: () => [{ id: 1, bounds: workArea, workArea, scaleFactor: 1 }] }),
    ...Object.fromEntries(absent.map((name) => [name, strict(name, {})])),
  };
}
