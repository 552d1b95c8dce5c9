import { BrowserWindow, ipcMain, type IpcMainEvent, type IpcMainInvokeEvent } from 'electron';
import type { AppEvent } from '#shared/contract.ts';
import type { Reply } from '#shared/errors.ts';
import type { Services } from '../services/index.ts';
import { channels } from './channels.ts';
import { isOurPage, sendTo } from './window.ts';

function isFromOurPage({ senderFrame }: IpcMainEvent | IpcMainInvokeEvent): boolean {
  return senderFrame !== null && isOurPage(senderFrame.url);
}

const forbidden: Reply<never> = {
  ok: false,
  error: { code: 'forbidden', message: 'Only the page of Trainyard may call Trainyard.' },
};

/** Connects the pages to the services: calls one way, events the other. */
export function connectPages(services: Services) {
  const listening = new WeakSet<BrowserWindow>();
  const waiting = new WeakMap<BrowserWindow, AppEvent[]>();

  ipcMain.handle(channels.request, (event, name: unknown, input: unknown) => {
    if (!isFromOurPage(event) || typeof name !== 'string') return forbidden;
    return services.request(name, input);
  });
  ipcMain.on(channels.listening, (event) => {
    const window = BrowserWindow.fromWebContents(event.sender);
    if (!window || !isFromOurPage(event)) return;
    listening.add(window);
    for (const late of waiting.get(window) ?? []) sendTo(window, late);
    waiting.delete(window);
  });
  services.subscribe((event) => {
    for (const window of BrowserWindow.getAllWindows()) sendTo(window, event);
  });

  return {
    /** Sends an event to one window, as soon as its page listens: a file may be opened before there is a page. */
    deliver(window: BrowserWindow, event: AppEvent) {
      if (listening.has(window)) sendTo(window, event);
      else waiting.set(window, [...(waiting.get(window) ?? []), event]);
    },
  };
}
