import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type http from 'node:http';
import path from 'node:path';
import { headerPolicy } from '../csp.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

/** One request, its answer, and the address it asks for. */
export interface Exchange {
  req: http.IncomingMessage;
  res: http.ServerResponse;
  url: URL;
}

/** The file below `dir` that a URL path names, or undefined where it names none or leads out of `dir`. */
export async function fileBelow(dir: string, urlPath: string): Promise<{ file: string; size: number } | undefined> {
  let name: string;
  try {
    name = decodeURIComponent(urlPath === '/' ? '/index.html' : urlPath);
  } catch {
    return undefined; // a malformed escape names no file
  }
  if (name.includes('\0')) return undefined;
  const file = path.join(dir, name);
  if (!file.startsWith(dir + path.sep)) return undefined;
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? { file, size: found.size } : undefined;
}

/** Sends one of the page's files; false where the path names none. */
export async function sendFile(dir: string, urlPath: string, { req, res }: Exchange): Promise<boolean> {
  const found = await fileBelow(dir, urlPath);
  if (!found) return false;
  res.writeHead(200, {
    'content-type': types[path.extname(found.file)] ?? 'application/octet-stream',
    'content-length': found.size,
    'content-security-policy': headerPolicy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // names under assets/ carry a hash of their content
    'cache-control': urlPath.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-store',
  });
  if (req.method === 'HEAD') res.end();
  else
    createReadStream(found.file)
      .on('error', () => res.destroy())
      .pipe(res);
  return true;
}
