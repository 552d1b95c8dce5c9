/**
 * The page's only way to the program: typed calls and events over one `Transport`. In the window that is the preload's
 * bridge, in a browser the loopback server that served the page; tests bring their own.
 */
import { ref, type Ref } from 'vue';
import type { AppEvent, CallInput, CallName, CallOutput, Transport } from '#shared/contract.ts';
import type { ErrorCode, Issue, Reply, WireError } from '#shared/errors.ts';

/** A call's refusal, as a thing to catch: what was wrong, what to do, and every field at fault. */
export class CallError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string;
  readonly path: string;
  readonly issues: readonly Issue[];
  /** What the issues were found in. */
  readonly subject: string;

  constructor(error: WireError) {
    super(error.message);
    this.name = 'CallError';
    this.code = error.code;
    this.remedy = error.remedy ?? '';
    this.path = error.path ?? '';
    this.issues = error.issues ?? [];
    this.subject = error.subject ?? 'the input';
  }
}

/** Any thrown value as a `CallError`, so that every message on a page has the same form. */
export function toCallError(error: unknown): CallError {
  if (error instanceof CallError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CallError({ code: 'internal', message, remedy: 'Try again. If it keeps happening, please report it.' });
}

type EventOf<T extends AppEvent['type']> = Extract<AppEvent, { type: T }>;

export interface Client {
  readonly kind: Transport['kind'];
  /** Number of calls without an answer yet. */
  readonly pending: Readonly<Ref<number>>;
  /** Rejects with a `CallError`. */
  call<N extends CallName>(name: N, input: CallInput<N>): Promise<CallOutput<N>>;
  on<T extends AppEvent['type']>(type: T, listener: (event: EventOf<T>) => void): () => void;
}

export function createClient(transport: Transport): Client {
  const pending = ref(0);
  return {
    kind: transport.kind,
    pending,
    async call(name, input) {
      pending.value++;
      try {
        const reply = await transport.request(name, input);
        if (!reply.ok) throw new CallError(reply.error);
        // the services have checked what they send: the schemas stay out of the page's first download
        return reply.value as CallOutput<typeof name>;
      } finally {
        pending.value--;
      }
    },
    on(type, listener) {
      return transport.subscribe((event) => {
        if (event.type === type) listener(event as EventOf<typeof type>);
      });
    },
  };
}

const unreachable: WireError = {
  code: 'internal',
  message: 'Trainyard is not answering.',
  remedy: 'Check that the program is still running, then reload this page.',
};

async function post(name: string, input: unknown): Promise<Reply<unknown>> {
  let response: Response;
  try {
    response = await fetch(`/api/${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
  } catch {
    return { ok: false, error: unreachable };
  }
  if (response.ok) return (await response.json()) as Reply<unknown>;
  const text = (await response.text()).trim();
  const code = response.status === 403 ? 'forbidden' : 'internal';
  return { ok: false, error: { code, message: text || `HTTP ${response.status}`, remedy: unreachable.remedy ?? '' } };
}

/** The loopback server's calls and its one event stream. */
export function httpTransport(): Transport {
  const source = new EventSource('/events');
  // the events of a short job must not be missed: no call leaves before the stream is open, or known to be refused
  const settled = new Promise<void>((resolve) => {
    source.addEventListener('open', () => resolve(), { once: true });
    source.addEventListener('error', () => resolve(), { once: true });
  });
  return {
    kind: 'http',
    async request(name, input) {
      await settled;
      return post(name, input);
    },
    subscribe(listener) {
      const receive = (message: MessageEvent<string>) => listener(JSON.parse(message.data) as AppEvent);
      source.addEventListener('message', receive);
      return () => source.removeEventListener('message', receive);
    },
  };
}

let current: Client | undefined;

/** Sets the client that stores use; once at start, or in a test. */
export function provideClient(client: Client): void {
  current = client;
}

export function useClient(): Client {
  if (current === undefined) throw new Error('provideClient has not been called');
  return current;
}
