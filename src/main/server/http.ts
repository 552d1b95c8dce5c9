/**
 * The browser door: the built page, POST /api/:method and GET /events (server-sent events) on 127.0.0.1. Every request
 * must name this very host, come from this very origin, and hold a session; docs/SECURITY.md says against what.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Services } from '../services/index.ts';
import { Sessions } from './sessions.ts';
import { sendFile, type Exchange } from './static-files.ts';

const maxBodyBytes = 16 * 2 ** 20;
/** Comment lines keep proxies and sleeping laptops from dropping a quiet stream. */
const heartbeatMilliseconds = 25_000;

export interface HttpDoor {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** An address that lets one browser in, once. It voids the last one if nobody has used it. */
  invite(): string;
  close(): Promise<void>;
}

interface Options {
  rendererDir: string;
  /** 0 takes any free port. */
  port?: number;
}

function answer(res: http.ServerResponse, status: number, text = http.STATUS_CODES[status] ?? '') {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
  res.end(`${text}\n`);
}

/** The body as text, or undefined where it is larger than allowed. */
async function readBody(req: http.IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of req as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes <= maxBodyBytes) parts.push(part); // the rest is read and dropped, so that the answer gets through
  }
  return bytes > maxBodyBytes ? undefined : Buffer.concat(parts).toString('utf8');
}

async function serveCall(services: Services, { req, res, url }: Exchange): Promise<void> {
  if (req.method !== 'POST') return answer(res, 405);
  if (!/^application\/json(;|$)/i.test(req.headers['content-type'] ?? '')) return answer(res, 415);
  const body = await readBody(req);
  if (body === undefined) return answer(res, 413);
  let name: string;
  let input: unknown;
  try {
    name = decodeURIComponent(url.pathname.slice('/api/'.length));
    input = JSON.parse(body);
  } catch {
    return answer(res, 400, 'the name or the body of the call is malformed');
  }
  const reply = await services.request(name, input);
  res.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  res.end(JSON.stringify(reply));
}

function serveEvents(services: Services, { req, res }: Exchange): void {
  if (req.method !== 'GET') return answer(res, 405);
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  res.write(': connected\n\n');
  const last = Number(req.headers['last-event-id'] ?? Number.NaN); // a page whose stream broke off asks for what it missed
  const stop = services.subscribe(
    (event, sequence) => res.write(`id: ${sequence}\ndata: ${JSON.stringify(event)}\n\n`),
    Number.isSafeInteger(last) && last >= 0 ? last : undefined,
  );
  const heartbeat = setInterval(() => res.write(': still here\n\n'), heartbeatMilliseconds);
  res.on('close', () => {
    clearInterval(heartbeat);
    stop();
  });
}

function admit(sessions: Sessions, invitation: string, { req, res }: Exchange): void {
  if (req.method !== 'GET') return answer(res, 405); // a link checker's HEAD must not use it up
  const home = { location: '/', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  if (sessions.admits(req.headers.cookie)) return void res.writeHead(303, home).end(); // the address is reloaded
  const cookie = sessions.redeem(invitation);
  if (cookie !== undefined) return void res.writeHead(303, { ...home, 'set-cookie': cookie }).end();
  answer(res, 403, 'This address has been used or replaced. Press Enter where Trainyard runs for a new one.');
}

/** Why a request is turned away before anything is looked up: another name (DNS rebinding) or another site's page. */
function refusal({ headers }: http.IncomingMessage, authority: string): number | undefined {
  if (headers.host !== authority) return 421;
  if (headers.origin !== undefined && headers.origin !== `http://${authority}`) return 403;
  return undefined;
}

/** Starts the door; rejects with the system's error where the port is taken. */
export async function openHttpDoor(services: Services, { rendererDir, port = 0 }: Options): Promise<HttpDoor> {
  async function serve(sessions: Sessions, exchange: Exchange): Promise<void> {
    const { req, res, url } = exchange;
    const invitation = url.searchParams.get('token');
    if (url.pathname === '/' && invitation !== null) return admit(sessions, invitation, exchange);
    if (!sessions.admits(req.headers.cookie)) return answer(res, 403, 'Open the address that Trainyard printed.');
    if (url.pathname === '/events') return serveEvents(services, exchange);
    if (url.pathname.startsWith('/api/')) return serveCall(services, exchange);
    if (req.method !== 'GET' && req.method !== 'HEAD') return answer(res, 405);
    if (!(await sendFile(rendererDir, url.pathname, exchange))) answer(res, 404);
  }

  const server = http.createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  const authority = `127.0.0.1:${bound}`;
  const sessions = new Sessions(bound);
  server.on('request', (req, res): void => {
    const url = URL.parse(req.url ?? '/', `http://${authority}`);
    const refused = refusal(req, authority) ?? (url?.host === authority ? undefined : 400);
    if (refused !== undefined || url === null) return answer(res, refused ?? 400);
    serve(sessions, { req, res, url }).catch((error: unknown) => {
      console.error('browser door:', error);
      if (res.headersSent) res.destroy();
      else answer(res, 500);
    });
  });

  return {
    origin: `http://${authority}`,
    invite: () => `http://${authority}/?token=${sessions.invite()}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections(); // event streams never end by themselves
      }),
  };
}
