import { app, BrowserWindow, dialog, Menu, session } from 'electron';
import { AppError } from '#shared/errors.ts';
import { appVersion, resourcesDir } from '../app-paths.ts';
import { createServices, type Services } from '../services/index.ts';
import { connectPages } from './ipc.ts';
import { buildMenu, type MenuActions } from './menu.ts';
import { fileFilters, filesIn, readChosenFile } from './open-file.ts';
import { openWindow } from './window.ts';

const isMac = process.platform === 'darwin';

function frontWindow(): BrowserWindow {
  return BrowserWindow.getFocusedWindow() ?? BrowserWindow.getAllWindows()[0] ?? openWindow();
}

function bringToFront(window: BrowserWindow) {
  if (window.isMinimized()) window.restore();
  window.focus();
}

/** The services, or null after a message that says why the library can't be opened and what to do. */
function openServices(): Services | null {
  try {
    return createServices({ dataDir: app.getPath('userData'), resourcesDir, appVersion: appVersion() });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    dialog.showErrorBox('Trainyard can’t start', `${error.message}\n\n${error.remedy ?? ''}`);
    return null;
  }
}

function run() {
  const services = openServices();
  if (services === null) return app.exit(2);
  const pages = connectPages(services);

  async function openFile(file: string, window: BrowserWindow) {
    try {
      pages.deliver(window, { type: 'file-opened', ...(await readChosenFile(file)) });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      await dialog.showMessageBox(window, { type: 'error', message: error.message, detail: error.remedy ?? '' });
    }
  }
  async function importFile() {
    const window = frontWindow();
    const chosen = await dialog.showOpenDialog(window, { properties: ['openFile'], filters: fileFilters });
    if (!chosen.canceled && chosen.filePaths[0] !== undefined) await openFile(chosen.filePaths[0], window);
  }

  // Copying text is all that the page needs a permission for.
  const isGranted = (permission: string) => permission === 'clipboard-sanitized-write';
  session.defaultSession.setPermissionRequestHandler((_contents, permission, done) => done(isGranted(permission)));
  session.defaultSession.setPermissionCheckHandler((_contents, permission) => isGranted(permission));

  const actions: MenuActions = {
    send: (command) => pages.deliver(frontWindow(), { type: 'menu', command }),
    newWindow: () => void openWindow(),
    importFile: () => void importFile(),
  };
  Menu.setApplicationMenu(buildMenu(actions, { isMac, isDevelopment: !app.isPackaged }));

  app.on('second-instance', (_event, argv) => {
    bringToFront(frontWindow());
    for (const file of filesIn(argv)) void openFile(file, frontWindow());
  });
  app.on('activate', () => {
    if (BrowserWindow.getAllWindows().length === 0) openWindow();
  });
  app.on('open-file', (event, file) => {
    event.preventDefault();
    void openFile(file, frontWindow());
  });
  app.on('will-quit', (event) => {
    event.preventDefault(); // the workers and the database are closed before the process goes
    void services.close().finally(() => app.exit(0));
  });

  const first = openWindow();
  for (const file of [...openedEarly, ...filesIn(process.argv)]) void openFile(file, first);
}

// macOS may name the file to open before the program is ready.
const openedEarly: string[] = [];
const keepForLater = (event: { preventDefault(): void }, file: string) => {
  event.preventDefault();
  openedEarly.push(file);
};
app.on('open-file', keepForLater);

app.on('window-all-closed', () => {
  if (!isMac) app.quit();
});

if (app.requestSingleInstanceLock()) {
  void app.whenReady().then(() => {
    app.off('open-file', keepForLater);
    run();
  });
} else app.quit();
