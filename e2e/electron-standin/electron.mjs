// A stand-in for the `electron` module of the main process, over Chromium's DevTools protocol. Tests only.
import { EventEmitter, once } from 'node:events';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { createDesktop } from './desktop.mjs';
import { codec, mainWorld, preloadWorld } from './page.mjs';
import { strict } from './strict.mjs';

const argv = process.argv.slice(1);
const positional = argv.filter((a, i) => !a.startsWith('-') && argv[i - 1] !== '-r');
export const appPath = path.resolve(positional[0] ?? '.');
const pkg = JSON.parse(readFileSync(path.join(appPath, 'package.json'), 'utf8'));
export const appMain = pkg.main ?? 'index.js';
const { encode, decode } = codec();
const switches = new Map(argv.filter((a) => a.startsWith('--')).map((a) => a.slice(2).split(/=(.*)/s, 2)));

// ---- the browser -------------------------------------------------------------------------------------------------
let ws;
let browser;
let seq = 0;
const waiting = new Map();
const sessions = new Map(); // sessionId -> (method, params) => void
function cdp(method, params = {}, sessionId) {
  return new Promise((resolve, reject) => {
    waiting.set(++seq, { resolve, reject, method });
    ws.send(JSON.stringify({ id: seq, method, params, ...(sessionId ? { sessionId } : {}) }));
  });
}
async function startBrowser() {
  const exe = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
  const profile = path.join(app.getPath('userData'), 'standin-chromium');
  mkdirSync(profile, { recursive: true });
  const headless = process.env.STANDIN_HEADED ? [] : ['--headless=new', '--disable-gpu'];
  browser = spawn(
    exe,
    [
      ...headless,
      '--no-sandbox',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      '--no-startup-window',
      '--allow-file-access-from-files',
      '--no-first-run',
      '--no-default-browser-check',
      '--disable-quic',
      '--disable-sync',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-background-timer-throttling',
      '--disable-renderer-backgrounding',
      '--disable-backgrounding-occluded-windows',
      '--window-size=1280,800',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  process.on('exit', () => browser.kill('SIGKILL'));
  browser.on('exit', () => app.exit(0));
  const url = await new Promise((resolve) => {
    createInterface({ input: browser.stderr }).on('line', (l) => {
      const m = /^DevTools listening on (ws:\S+)/.exec(l);
      if (m) {
        console.error(l); // Playwright's _electron.launch looks for this line
        resolve(m[1]);
      }
    });
  });
  ws = new WebSocket(url);
  ws.onmessage = ({ data }) => {
    const m = JSON.parse(data);
    if (m.id) {
      const w = waiting.get(m.id);
      waiting.delete(m.id);
      if (m.error) w.reject(new Error(`${w.method}: ${m.error.message}`));
      else w.resolve(m.result);
    } else if (m.sessionId) sessions.get(m.sessionId)?.(m.method, m.params);
    else if (m.method === 'Target.targetDestroyed') byTarget.get(m.params.targetId)?._closed();
  };
  await once(ws, 'open');
  await cdp('Target.setDiscoverTargets', { discover: true });
}

// ---- app ---------------------------------------------------------------------------------------------------------
let readyNow;
const readyPromise = new Promise((r) => (readyNow = r));
let quitting = false;
class App extends EventEmitter {
  isPackaged = false;
  name = pkg.productName ?? pkg.name;
  _paths = new Map();
  commandLine = {
    appendSwitch: (k, v = '') => void switches.set(k, v),
    appendArgument: () => {},
    hasSwitch: (k) => switches.has(k),
    getSwitchValue: (k) => switches.get(k) ?? '',
  };
  whenReady = () => readyPromise;
  isReady = () => ws !== undefined;
  getName = () => this.name;
  getVersion = () => pkg.version ?? '0.0.0';
  getAppPath = () => appPath;
  getLocale = () => 'en-US';
  setName = (n) => void (this.name = n);
  setAppUserModelId() {}
  disableHardwareAcceleration() {}
  enableSandbox() {}
  focus() {}
  requestSingleInstanceLock = () => true;
  setPath = (k, v) => void this._paths.set(k, v);
  getPath(k) {
    const config = process.env.XDG_CONFIG_HOME ?? path.join(os.homedir(), '.config');
    const known = {
      home: os.homedir(),
      temp: os.tmpdir(),
      appData: config,
      exe: process.execPath,
      userData: switches.get('user-data-dir') ?? path.join(config, this.name),
      ...Object.fromEntries(['desktop', 'documents', 'downloads'].map((d) => [d, path.join(os.homedir(), d)])),
    };
    const dir = this._paths.get(k) ?? (k === 'sessionData' ? known.userData : known[k]);
    if (!dir) throw new Error(`Failed to get '${k}' path`);
    if (k === 'userData' && !existsSync(dir)) mkdirSync(dir, { recursive: true });
    return dir;
  }
  quit() {
    if (quitting || !emitPreventable(this, 'before-quit')) return;
    quitting = true;
    for (const w of [...windows]) w.close();
    if (windows.size === 0) this._finish();
  }
  _finish() {
    if (!emitPreventable(this, 'will-quit')) return void (quitting = false);
    this.emit('quit', {}, 0);
    this.exit(0);
  }
  exit(code = 0) {
    browser?.removeAllListeners('exit');
    process.exit(code);
  }
}
export const app = strict('app', new App());
function emitPreventable(target, name, ...args) {
  const e = { defaultPrevented: false, preventDefault: () => void (e.defaultPrevented = true) };
  target.emit(name, e, ...args);
  return !e.defaultPrevented;
}
export async function start() {
  await startBrowser();
  app.emit('ready', {}, {}); // before the promise: Playwright's loader keeps the event back until it is attached
  readyNow();
}

// ---- windows -----------------------------------------------------------------------------------------------------
const windows = new Set();
const byTarget = new Map();
const handlers = new Map();
export const ipcMain = Object.assign(new EventEmitter(), {
  handle(channel, fn) {
    if (handlers.has(channel)) throw new Error(`Attempted to register a second handler for '${channel}'`);
    handlers.set(channel, fn);
  },
  handleOnce: (channel, fn) => ipcMain.handle(channel, (...a) => (handlers.delete(channel), fn(...a))),
  removeHandler: (channel) => void handlers.delete(channel),
});
const schemes = new Map(); // protocol.handle
/** app://host/x is really loaded as http://host.app.localhost/x, answered by the handler. */
const toReal = (u) =>
  u.replace(/^([a-z][\w.+-]*):\/\/([^/?#]*)/, (all, s, h) => (schemes.has(s) ? `http://${h}.${s}.localhost` : all));
const toShown = (u) =>
  u.replace(/^http:\/\/([^/?#]+)\.([a-z][\w+-]*)\.localhost/, (all, h, s) => (schemes.has(s) ? `${s}://${h}` : all));

class WebContents extends EventEmitter {
  static #n = 0;
  id = ++WebContents.#n;
  session = session.defaultSession;
  _url = 'about:blank';
  _expected = new Set();
  _ctx = undefined; // the preload's world; an event that comes before there is one is lost, as in Electron
  _open = undefined;
  constructor(win) {
    super();
    this._win = win;
  }
  get mainFrame() {
    return { url: toShown(this._url), routingId: this.id };
  }
  getURL = () => toShown(this._url);
  getTitle = () => this._win._title;
  isDestroyed = () => this._win.isDestroyed();
  isLoading = () => false;
  setWindowOpenHandler = (fn) => void (this._open = fn);
  openDevTools() {}
  close = () => this._win.close();
  send(channel, ...args) {
    const text = encode({ t: 'event', channel, args: structuredClone(args) });
    void this._win._ready.then(() => this._toPage(text));
  }
  _toPage(text) {
    if (this._ctx)
      return this._win
        ._cdp('Runtime.evaluate', { contextId: this._ctx, expression: `__standinRecv(${JSON.stringify(text)})` })
        .catch(() => {});
  }
  async executeJavaScript(code) {
    const r = await this._win._cdp('Runtime.evaluate', { expression: code, awaitPromise: true, returnByValue: true });
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? 'script failed');
    return r.result.value;
  }
  printToPDF = async (o = {}) => Buffer.from((await this._win._cdp('Page.printToPDF', o)).data, 'base64');
  async _fromPage(text) {
    const m = decode(text);
    if (m.t === 'open') {
      if (this._open?.({ url: toShown(m.args[0]), frameName: '' }).action === 'deny') return;
      console.error('electron stand-in: a popup was allowed, which is not implemented');
      return app.exit(70);
    }
    const event = { sender: this, senderFrame: this.mainFrame, processId: 1, frameId: 1 };
    if (m.t === 'send')
      return void ipcMain.emit(m.channel, { ...event, reply: (c, ...a) => this.send(c, ...a) }, ...m.args);
    let reply;
    try {
      if (!handlers.has(m.channel)) throw new Error(`No handler registered for '${m.channel}'`);
      reply = { t: 'reply', id: m.id, value: structuredClone(await handlers.get(m.channel)(event, ...m.args)) };
    } catch (err) {
      reply = { t: 'reply', id: m.id, error: `Error invoking remote method '${m.channel}': ${err}` };
    }
    await this._toPage(encode(reply));
  }
}

class Window extends EventEmitter {
  static #n = 0;
  id = ++Window.#n;
  _gone = false;
  _visible;
  _title = app.name;
  constructor(o = {}) {
    super();
    const wp = o.webPreferences ?? {};
    if (wp.nodeIntegration || wp.contextIsolation === false || wp.sandbox === false)
      throw new Error('electron stand-in: only sandboxed, isolated windows');
    this._visible = o.show !== false;
    this.webContents = strict('webContents', new WebContents(this));
    this._ready = this._open(o, wp.preload);
    this._ready.catch((err) => console.error('electron stand-in:', err));
    const self = strict('BrowserWindow', this);
    windows.add(self);
    return self;
  }
  _cdp = (m, p) => cdp(m, p, this._session);
  async _open({ width = 800, height = 600 }, preload) {
    this._size = { width, height };
    const { targetId } = await cdp('Target.createTarget', { url: 'about:blank', newWindow: true, width, height });
    this._target = targetId;
    byTarget.set(targetId, this);
    this._session = (await cdp('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    sessions.set(this._session, (m, p) => void this._event(m, p));
    await this._cdp('Page.enable');
    await this._cdp('Runtime.addBinding', { name: '__standinSend', executionContextName: 'electron-preload' });
    await this._cdp('Runtime.enable');
    await this._cdp('Page.addScriptToEvaluateOnNewDocument', { source: `(${mainWorld})()` });
    const text = preload ? readFileSync(preload, 'utf8') : '';
    const source = `(${preloadWorld})((${codec})(), (exports, require, module, process) => {${text}\n})`;
    await this._cdp('Page.addScriptToEvaluateOnNewDocument', { source, worldName: 'electron-preload' });
    const patterns = [{ urlPattern: '*', resourceType: 'Document' }];
    for (const s of schemes.keys()) patterns.push({ urlPattern: `http://*.${s}.localhost/*` });
    await this._cdp('Fetch.enable', { patterns });
  }
  async _event(m, p) {
    const wc = this.webContents;
    if (m === 'Runtime.executionContextCreated') {
      if (p.context.name === 'electron-preload' && p.context.auxData.frameId === this._target) wc._ctx = p.context.id;
    } else if (m === 'Runtime.executionContextsCleared') wc._ctx = undefined;
    else if (m === 'Runtime.bindingCalled') void wc._fromPage(p.payload);
    else if (m === 'Runtime.exceptionThrown')
      console.error('[page]', p.exceptionDetails.exception?.description ?? p.exceptionDetails.text);
    else if (m === 'Page.frameNavigated' && !p.frame.parentId) wc._url = p.frame.url + (p.frame.urlFragment ?? '');
    else if (m === 'Page.navigatedWithinDocument') wc._url = p.url;
    else if (m === 'Page.domContentEventFired') wc.emit('dom-ready', {});
    else if (m === 'Page.loadEventFired') {
      wc.emit('did-finish-load', {});
      this.emit('ready-to-show', {});
    } else if (m === 'Fetch.requestPaused')
      await this._request(p).catch((err) => console.error('electron stand-in:', err.message));
  }
  async _request({ requestId, request, resourceType, frameId }) {
    const url = request.url + (request.urlFragment ?? '');
    if (resourceType === 'Document' && frameId === this._target && !this.webContents._expected.delete(request.url)) {
      if (!emitPreventable(this.webContents, 'will-navigate', toShown(url)))
        return this._cdp('Fetch.failRequest', { requestId, errorReason: 'Aborted' });
    }
    const shown = toShown(url);
    if (shown === url) return this._cdp('Fetch.continueRequest', { requestId });
    const res = await schemes.get(shown.split(':')[0])(
      new Request(shown, {
        method: request.method,
        headers: request.headers,
        ...(request.postData ? { body: request.postData } : {}),
      }),
    );
    await this._cdp('Fetch.fulfillRequest', {
      requestId,
      responseCode: res.status,
      responseHeaders: [...res.headers].map(([name, value]) => ({ name, value })),
      body: Buffer.from(await res.arrayBuffer()).toString('base64'),
    });
  }
  async loadURL(url) {
    await this._ready;
    const real = toReal(url);
    this.webContents._expected.add(real.split('#')[0]);
    const done = once(this.webContents, 'did-finish-load');
    const r = await this._cdp('Page.navigate', { url: real });
    if (r.errorText) throw new Error(`${r.errorText} loading '${url}'`);
    await done;
  }
  loadFile = (f) => this.loadURL(pathToFileURL(statSync(path.resolve(appPath, f)) && path.resolve(appPath, f)).href);
  show = () => void (this._visible = true);
  hide = () => void (this._visible = false);
  isVisible = () => this._visible;
  isMinimized = () => false;
  maximize = () => void (this._maximized = true);
  isMaximized = () => this._maximized === true;
  getNormalBounds = () => ({ x: 0, y: 0, width: this._size.width, height: this._size.height });
  focus() {}
  restore() {}
  setTitle = (t) => void (this._title = t);
  getTitle = () => this._title;
  setMenuBarVisibility() {}
  isDestroyed = () => this._gone;
  close() {
    if (!this._gone && emitPreventable(this, 'close')) this.destroy();
  }
  destroy = () => void this._ready.then(() => cdp('Target.closeTarget', { targetId: this._target }));
  _closed() {
    this._gone = true;
    byTarget.delete(this._target);
    for (const w of windows) if (w.id === this.id) windows.delete(w);
    this.webContents.emit('destroyed', {});
    this.emit('closed', {});
    if (windows.size > 0) return;
    if (quitting) return app._finish();
    if (app.listenerCount('window-all-closed') === 0) app.quit();
    else app.emit('window-all-closed');
  }
}
const find = (wc) => [...windows].find((w) => w.webContents === wc) ?? null;
export const BrowserWindow = Object.assign(Window, {
  getAllWindows: () => [...windows],
  getFocusedWindow: () => [...windows].at(-1) ?? null,
  fromWebContents: find,
  fromId: (id) => [...windows].find((w) => w.id === id) ?? null,
});
export const webContents = {
  getAllWebContents: () => [...windows].map((w) => w.webContents),
  fromDevToolsTargetId: (id) => byTarget.get(id)?.webContents,
};

// ---- the rest ----------------------------------------------------------------------------------------------------
const desktop = createDesktop({
  quit: () => app.quit(),
  focusedWindow: () => BrowserWindow.getFocusedWindow(),
  schemes,
});
const { session } = desktop;
export const { Menu, MenuItem, dialog, shell, protocol, nativeTheme, clipboard, net, screen } = desktop;
export const { Tray, Notification, safeStorage, utilityProcess, globalShortcut, powerMonitor, nativeImage } = desktop;
export { session };
