import type { Transport } from '#shared/contract.ts';

declare global {
  interface Window {
    /** The window's preload bridge; absent in a plain browser. */
    readonly trainyard?: Transport;
  }
}
