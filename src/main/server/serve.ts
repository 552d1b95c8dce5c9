import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { appVersion, defaultDataDir, rendererDir, resourcesDir } from '../app-paths.ts';
import { createServices, type Services } from '../services/index.ts';
import { openHttpDoor, type HttpDoor } from './http.ts';

export interface ServeOptions {
  /** Port on 127.0.0.1; 0 takes any free one; left out, the usual one if it is free. */
  port?: number;
  dataDir?: string;
}

/** A background job that reads its terminal is stopped by the system, so only a foreground one listens for Enter. */
function mayReadTerminal(): boolean {
  if (!process.stdin.isTTY) return true; // a pipe or nothing
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return fields[2] === fields[5]; // our process group is the terminal's foreground group
  } catch {
    return true; // no /proc: not Linux
  }
}

/** Prints a new address at each line of standard input, until the returned function is called. */
function announceOnEnter(door: HttpDoor): () => void {
  if (!mayReadTerminal()) return () => undefined;
  const lines = createInterface({ input: process.stdin });
  lines.on('line', () => console.log(`READY ${door.invite()}`));
  return () => {
    lines.close();
    process.stdin.destroy(); // an open terminal or pipe would keep the process alive
  };
}

/**
 * The port of a door that was not given one. A browser keeps the theme and unsaved typing by address, so the address
 * should be the same at the next start. From the range that no registered service uses (IANA, 49152–65535).
 */
const USUAL_PORT = 51_731;

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

async function openDoor(services: Services, port: number | undefined): Promise<HttpDoor> {
  try {
    return await openHttpDoor(services, { rendererDir, port: port ?? USUAL_PORT });
  } catch (error) {
    if (port !== undefined || !isTaken(error)) throw error;
    return openHttpDoor(services, { rendererDir, port: 0 });
  }
}

function explain(error: unknown, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use, perhaps by another Trainyard. Choose another with --port N, or leave --port out.`;
  if (code === 'EACCES') return `This user may not listen on port ${port}. Choose one above 1023 with --port N.`;
  throw error;
}

/**
 * Opens the browser door and prints `READY ADDRESS`; prints a new address, and voids the old one, at each line on
 * standard input. Resolves when SIGINT or SIGTERM has closed it.
 * @returns the exit code: 0, or 2 where the port can't be had
 * @throws AppError where the data folder can't be used
 */
export async function serve({ port, dataDir = defaultDataDir() }: ServeOptions): Promise<number> {
  const services = createServices({ dataDir, resourcesDir, appVersion: appVersion() });
  let door: HttpDoor;
  try {
    door = await openDoor(services, port);
  } catch (error) {
    await services.close();
    console.error(explain(error, port ?? USUAL_PORT));
    return 2;
  }
  console.log(`READY ${door.invite()}`);
  const stopListening = announceOnEnter(door);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
  stopListening();
  await door.close();
  await services.close();
  return 0;
}
