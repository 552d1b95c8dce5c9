import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AppEvent } from '#shared/contract.ts';
import type { Services } from '../services/index.ts';
import { openHttpDoor, type HttpDoor } from './http.ts';

const change = (id: string): AppEvent => ({ type: 'scenarios-changed', ids: [id] });

/** Services that echo, keep their events as the real ones do, and fail like a bug on demand. */
function fakeServices() {
  const listeners = new Set<(event: AppEvent, sequence: number) => void>();
  const past: AppEvent[] = [];
  return {
    listeners,
    emit(event: AppEvent) {
      past.push(event);
      for (const listener of listeners) listener(event, past.length);
    },
    request: (name, input) =>
      name === 'bug' ? Promise.reject(new Error('a bug')) : Promise.resolve({ ok: true, value: { name, input } }),
    subscribe(listener, after = past.length) {
      past.forEach((event, index) => index >= after && listener(event, index + 1));
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => Promise.resolve(),
  } satisfies Services & Record<string, unknown>;
}

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

let dir: string;
let services: ReturnType<typeof fakeServices>;
let door: HttpDoor;

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'trainyard-http-'));
  const page = path.join(dir, 'page');
  mkdirSync(page);
  writeFileSync(path.join(page, 'index.html'), '<h1>Trainyard</h1>');
  writeFileSync(path.join(dir, 'secret'), 'outside');
  writeFileSync(path.join(dir, 'page-secret'), 'outside');
  services = fakeServices();
  door = await openHttpDoor(services, { rendererDir: page });
});
afterEach(async () => {
  await door.close();
  rmSync(dir, { recursive: true });
});

function send(url: string, options: http.RequestOptions = {}, body?: string | Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent: false, ...options }, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('end', () => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(parts).toString() });
      });
    });
    request.on('error', reject).end(body);
  });
}

async function enter(invitation = door.invite()): Promise<string> {
  const { headers } = await send(invitation);
  return headers['set-cookie']![0]!.split(';')[0]!;
}

function call(name: string, cookie: string, body: string | Buffer = '{}', headers: http.OutgoingHttpHeaders = {}) {
  const all = { cookie, 'content-type': 'application/json', ...headers };
  return send(`${door.origin}/api/${name}`, { method: 'POST', headers: all }, body);
}

describe('who is let in', () => {
  test('an invitation buys a session once', async () => {
    const invitation = door.invite();
    const first = await send(invitation);
    expect(first.status).toBe(303);
    expect(first.headers.location).toBe('/');
    expect(first.headers['set-cookie']![0]).toMatch(/^trainyard-\d+=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/$/);
    expect((await send(invitation)).status).toBe(403);
    expect((await send(invitation, { headers: { cookie: await enter() } })).status).toBe(303);
  });

  test('a new invitation voids the unused one, and sessions stay', async () => {
    const old = door.invite();
    const cookie = await enter(door.invite());
    expect((await send(old)).status).toBe(403);
    door.invite();
    expect((await send(door.origin, { headers: { cookie } })).status).toBe(200);
  });

  test('HEAD does not use an invitation up', async () => {
    const invitation = door.invite();
    expect((await send(invitation, { method: 'HEAD' })).status).toBe(405);
    expect((await send(invitation)).status).toBe(303);
  });

  test.each(['/', '/index.html', '/events', '/api/app.info'])('%s needs a session', async (where) => {
    expect((await send(door.origin + where)).status).toBe(403);
    const wrong = `trainyard-${new URL(door.origin).port}=${'0'.repeat(64)}`;
    expect((await send(door.origin + where, { headers: { cookie: wrong } })).status).toBe(403);
  });

  test('another host name or origin is turned away even with a session', async () => {
    const cookie = await enter();
    const port = new URL(door.origin).port;
    expect((await send(door.origin, { headers: { cookie, host: `rebound.example:${port}` } })).status).toBe(421);
    expect((await send(door.origin, { headers: { cookie, host: `localhost:${port}` } })).status).toBe(421);
    expect((await send(door.origin, { headers: { cookie, origin: 'http://evil.example' } })).status).toBe(403);
    expect((await send(door.origin, { headers: { cookie, origin: 'null' } })).status).toBe(403);
    expect((await send(door.origin, { headers: { cookie, origin: door.origin } })).status).toBe(200);
  });
});

describe('the page', () => {
  test('comes with its policy, and nothing outside its folder does', async () => {
    const cookie = await enter();
    const page = await send(door.origin, { headers: { cookie } });
    expect(page.body).toBe('<h1>Trainyard</h1>');
    expect(page.headers['content-security-policy']).toContain("default-src 'self'");
    expect(page.headers['x-content-type-options']).toBe('nosniff');
    for (const outside of [
      '/..%2fsecret',
      '/..%2fpage-secret',
      '/%2e%2e/secret',
      '/%00',
      '/%zz',
      '/none.js',
      '/assets',
    ])
      expect((await send(door.origin + outside, { headers: { cookie } })).status, outside).toBe(404);
    expect((await send(door.origin, { method: 'DELETE', headers: { cookie } })).status).toBe(405);
  });
});

describe('calls', () => {
  test('reach the services with their input', async () => {
    const { status, body } = await call('scenario.get', await enter(), '{"id":"a"}');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({ ok: true, value: { name: 'scenario.get', input: { id: 'a' } } });
  });

  test('take JSON, by POST, up to 16 MiB', async () => {
    const cookie = await enter();
    expect((await call('a', cookie, '{"half":')).status).toBe(400);
    expect((await call('%zz', cookie)).status).toBe(400);
    expect((await call('a', cookie, 'a=b', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await send(`${door.origin}/api/a`, { headers: { cookie } })).status).toBe(405);
    expect((await call('a', cookie, JSON.stringify('x'.repeat(15 * 2 ** 20)))).status).toBe(200);
    expect((await call('a', cookie, Buffer.alloc(16 * 2 ** 20 + 1, '0'))).status).toBe(413);
  });

  test('a bug behind a call is a 500 that tells nothing, and the door stays open', async () => {
    const cookie = await enter();
    const error = console.error;
    const logged: unknown[][] = [];
    console.error = (...args) => logged.push(args);
    const { status, body } = await call('bug', cookie).finally(() => (console.error = error));
    expect({ status, body }).toEqual({ status: 500, body: 'Internal Server Error\n' });
    expect(String(logged[0]?.[1])).toContain('a bug');
    expect((await call('a', cookie)).status).toBe(200);
  });
});

describe('events', () => {
  async function listen(headers: http.OutgoingHttpHeaders) {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get(`${door.origin}/events`, { agent: false, headers }, resolve).on('error', reject);
    });
    let text = '';
    response.setEncoding('utf8').on('data', (part: string) => (text += part));
    return { response, events: () => [...text.matchAll(/id: (\d+)\ndata: .*"(\w+)"\]/g)].map((m) => m[1]! + m[2]!) };
  }

  test('stream from now on, or from where a broken stream left off, until the page goes', async () => {
    const cookie = await enter();
    for (const id of ['a', 'b', 'c']) services.emit(change(id));
    const fresh = await listen({ cookie });
    const resumed = await listen({ cookie, 'last-event-id': '1' });
    await expect.poll(() => services.listeners.size).toBe(2);
    services.emit(change('d'));
    await expect.poll(fresh.events).toEqual(['4d']);
    await expect.poll(resumed.events).toEqual(['2b', '3c', '4d']);
    fresh.response.destroy();
    await expect.poll(() => services.listeners.size).toBe(1);
  });
});

test('a taken port is an error of the system', async () => {
  const port = Number(new URL(door.origin).port);
  await expect(openHttpDoor(services, { rendererDir: dir, port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
