import { randomBytes, timingSafeEqual } from 'node:crypto';

function secret(): string {
  return randomBytes(32).toString('hex');
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]; // of unequal length where a stranger sends other letters
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Who may use the browser door. An invitation is a secret in the printed address and admits one browser, once: an
 * address left behind in a history, a log or a screen recording opens nothing. The browser gets a session in its place.
 */
export class Sessions {
  #invitation: string | undefined;
  readonly #cookieName: string;
  readonly #sessions = new Set<string>();

  /** Cookies don't know ports: without it in the name, two programs on one machine would log each other out. */
  constructor(port: number) {
    this.#cookieName = `trainyard-${port}`;
  }

  /** A fresh invitation; an older one that nobody used is void from now on. */
  invite(): string {
    this.#invitation = secret();
    return this.#invitation;
  }

  /** The cookie that an invitation buys, as a `set-cookie` header; undefined where it is wrong or used up. */
  redeem(invitation: string): string | undefined {
    if (this.#invitation === undefined || !same(this.#invitation, invitation)) return undefined;
    this.#invitation = undefined;
    const session = secret();
    this.#sessions.add(session);
    return `${this.#cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** Whether a `cookie` header holds a session of ours. */
  admits(cookieHeader = ''): boolean {
    return cookieHeader.split(';').some((cookie) => {
      const [name, value = ''] = cookie.trim().split('=');
      return name === this.#cookieName && [...this.#sessions].some((known) => same(known, value));
    });
  }
}
