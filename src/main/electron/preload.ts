import { contextBridge, ipcRenderer } from 'electron';
import type { AppEvent, Transport } from '#shared/contract.ts';
import type { Reply } from '#shared/errors.ts';
import { channels } from './channels.ts';

const transport: Transport = {
  kind: 'electron',
  request: (name, input) => ipcRenderer.invoke(channels.request, name, input) as Promise<Reply<unknown>>,
  subscribe: (listener) => {
    const forward = (_event: unknown, event: AppEvent) => listener(event);
    ipcRenderer.on(channels.event, forward);
    ipcRenderer.send(channels.listening);
    return () => void ipcRenderer.off(channels.event, forward);
  },
};

contextBridge.exposeInMainWorld('trainyard', transport);
