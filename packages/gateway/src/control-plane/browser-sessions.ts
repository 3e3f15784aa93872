import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "@keywheel/pool";

const dayMs = 86_400_000;
/** A browser stays signed in for so long at the most, and while it is used. */
export const sessionLifeMs = 30 * dayMs;
export const sessionIdleMs = 7 * dayMs;
const mostSessions = 200;
/** A use is written down only when the last one written is older than this. */
const touchEveryMs = dayMs / 24;

interface BrowserSession {
  createdAt: number;
  usedAt: number;
  writtenAt: number;
}

export interface BrowserSessionsOptions {
  readonly clock: Clock;
  /** Of this gateway alone: others on the same host, whatever their port, get the same cookies. */
  readonly cookieName: string;
  /** What was saved by a former process, or undefined. */
  readonly saved: string | undefined;
  /** Keeps the sessions over a restart. It must not reject. */
  readonly save: (text: string) => void;
  /** Stands for the admin token: with another one, nobody is signed in any more. */
  readonly tokenMark: string;
}

/** Browsers that are signed in. Their cookies hold 256 random bits, of which only hashes are kept. */
export class BrowserSessions {
  readonly #options: BrowserSessionsOptions;
  #tokenMark: string;
  readonly #sessions = new Map<string, BrowserSession>();

  constructor(options: BrowserSessionsOptions) {
    this.#options = options;
    this.#tokenMark = options.tokenMark;
    for (const [hash, session] of read(options)) this.#sessions.set(hash, session);
  }

  /** The name of the cookie that shows who is signed in. */
  get cookieName(): string {
    return this.#options.cookieName;
  }

  /** Signs a browser in. @returns the value of its cookie */
  create(): string {
    const cookie = randomBytes(32).toString("base64url");
    const now = this.#options.clock.now();
    this.#forgetEnded(now);
    this.#sessions.set(hashOf(cookie), { createdAt: now, usedAt: now, writtenAt: now });
    this.#save();
    return cookie;
  }

  /** Whether a cookie's session lasts; counts as a use of it. */
  isValid(cookie: string): boolean {
    const hash = hashOf(cookie);
    const session = this.#sessions.get(hash);
    if (!session) return false;
    const now = this.#options.clock.now();
    if (hasEnded(session, now)) {
      this.#sessions.delete(hash);
      this.#save();
      return false;
    }
    // A clock that was ahead when it began must not make it last longer.
    session.createdAt = Math.min(session.createdAt, now);
    session.usedAt = now;
    if (Math.abs(now - session.writtenAt) > touchEveryMs) {
      session.writtenAt = now;
      this.#save();
    }
    return true;
  }

  end(cookie: string): void {
    if (this.#sessions.delete(hashOf(cookie))) this.#save();
  }

  /** Signs every browser out. @param tokenMark stands for the admin token from now on */
  endAll(tokenMark: string): void {
    this.#tokenMark = tokenMark;
    this.#sessions.clear();
    this.#save();
  }

  #forgetEnded(now: number): void {
    for (const [hash, session] of this.#sessions) if (hasEnded(session, now)) this.#sessions.delete(hash);
    const surplus = this.#sessions.size + 1 - mostSessions;
    if (surplus <= 0) return;
    const oldest = [...this.#sessions].sort(([, one], [, other]) => one.usedAt - other.usedAt).slice(0, surplus);
    for (const [hash] of oldest) this.#sessions.delete(hash);
  }

  #save(): void {
    const sessions = [...this.#sessions].map(([hash, { createdAt, usedAt }]) => ({ hash, createdAt, usedAt }));
    this.#options.save(JSON.stringify({ tokenMark: this.#tokenMark, sessions }));
  }
}

function hasEnded({ createdAt, usedAt }: BrowserSession, now: number): boolean {
  return now >= createdAt + sessionLifeMs || now >= usedAt + sessionIdleMs;
}

function hashOf(cookie: string): string {
  return createHash("sha256").update(cookie).digest("base64url");
}

interface SavedSessions {
  readonly tokenMark: string;
  readonly sessions: readonly { readonly hash: string; readonly createdAt: number; readonly usedAt: number }[];
}

function read({ saved, tokenMark }: BrowserSessionsOptions): [string, BrowserSession][] {
  if (saved === undefined) return [];
  try {
    const { tokenMark: mark, sessions } = JSON.parse(saved) as SavedSessions;
    if (mark !== tokenMark) return [];
    return sessions.map(({ hash, createdAt, usedAt }) => [hash, { createdAt, usedAt, writtenAt: usedAt }]);
  } catch {
    // Unreadable means signed out, which costs one more sign-in.
    return [];
  }
}
