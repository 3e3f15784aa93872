import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, KeywheelError, Secret } from "@keywheel/pool";
import type { Store } from "../store/store.ts";
import { BrowserSessions } from "./browser-sessions.ts";
import { Throttle, type ThrottleLimits } from "./throttle.ts";

export interface AdminAuthOptions {
  readonly store: Pick<Store, "getMeta" | "setMeta" | "setMetaOnce">;
  readonly clock: Clock;
  /** `KEYWHEEL_ADMIN_TOKEN`. While it is set it is the admin token; one that was made before counts for nothing. */
  readonly environmentToken?: string | undefined;
  /** Accepted as well: the token of the command line on this machine, derived from the master key. */
  readonly operatorToken?: Secret | undefined;
  /**
   * Tells this gateway from others on the same database: browsers sign in at one of them, under a cookie of its own.
   * Undefined where the database is this gateway's alone.
   */
  readonly gateway?: string | undefined;
  /** Makes a token when there is none. Without it and any token, nothing under /api can be called. */
  readonly makeToken: boolean;
  readonly throttle?: ThrottleLimits;
  /** Told of a token that is made later on, before anything can show it: the redactor's `learn`. */
  readonly learnSecrets?: (values: Iterable<Secret>) => void;
  /** Told when browsers cannot be kept signed in over a restart. */
  readonly warn?: (message: string, error: unknown) => void;
}

export const shortestAdminToken = 16;
const codeLifeMs = 15 * 60_000;
const metaToken = "admin_token_sha256";
const metaSessions = "browser_sessions";
const metaCookie = "browser_cookie";
const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * Who may manage the gateway: whoever shows the admin token or the operator token, or a browser that signed in with it.
 *
 * A token that is made here has 160 random bits and is stored as SHA-256; a slow hash would protect nothing. One from the
 * environment may be weak, and is not stored at all. Either is compared by its SHA-256 in constant time.
 */
export class AdminAuth {
  readonly browsers: BrowserSessions;
  readonly #clock: Clock;
  readonly #store: AdminAuthOptions["store"];
  readonly #learnSecrets: AdminAuthOptions["learnSecrets"];
  readonly #isFixed: boolean;
  readonly #operatorHashes: readonly Buffer[];
  #tokenHash: Buffer | undefined;
  readonly #throttle: Throttle;
  /** Sign-in codes by their hash, and when they end. */
  readonly #codes = new Map<string, number>();

  /**
   * @returns the guard, and the token if one was made now: it is shown this once
   * @throws KeywheelError validation_failed for an environment token that is too short, store_unavailable
   */
  static async open(options: AdminAuthOptions): Promise<{ auth: AdminAuth; madeToken: Secret | undefined }> {
    const { store, environmentToken, makeToken } = options;
    const problem = environmentToken === undefined ? undefined : problemOfAdminToken(environmentToken);
    if (problem !== undefined) throw new KeywheelError("validation_failed", problem);
    const saved = {
      sessions: await store.getMeta(ownName(metaSessions, options)),
      cookieName: await cookieNameOf(options),
    };
    if (environmentToken !== undefined) {
      return { auth: new AdminAuth(options, sha256(environmentToken.trim()), saved), madeToken: undefined };
    }
    const stored = await store.getMeta(metaToken);
    if (stored !== undefined)
      return { auth: new AdminAuth(options, Buffer.from(stored, "hex"), saved), madeToken: undefined };
    if (!makeToken) return { auth: new AdminAuth(options, undefined, saved), madeToken: undefined };
    const text = randomToken();
    const hash = sha256(text).toString("hex");
    const kept = await store.setMetaOnce(metaToken, hash);
    // Another gateway on the same database was first, and has shown its own.
    if (kept !== hash) return { auth: new AdminAuth(options, Buffer.from(kept, "hex"), saved), madeToken: undefined };
    return { auth: new AdminAuth(options, sha256(text), saved), madeToken: new Secret(text) };
  }

  private constructor(options: AdminAuthOptions, tokenHash: Buffer | undefined, saved: Saved) {
    const { clock, operatorToken, store, warn } = options;
    this.#clock = clock;
    this.#store = store;
    this.#learnSecrets = options.learnSecrets;
    this.#isFixed = options.environmentToken !== undefined;
    this.#tokenHash = tokenHash;
    this.#operatorHashes = operatorToken === undefined ? [] : [sha256(operatorToken.reveal())];
    this.#throttle = new Throttle(clock, options.throttle);
    let lastSave = Promise.resolve();
    this.browsers = new BrowserSessions({
      clock,
      saved: saved.sessions,
      cookieName: saved.cookieName,
      tokenMark: markOf(tokenHash),
      save: (text) => {
        // One after the other, so that the last word is the latest; a sign-in does not wait for it, nor fail with it.
        lastSave = lastSave
          .then(() => store.setMeta(ownName(metaSessions, options), text))
          .catch((error: unknown) => warn?.("could not keep the signed-in browsers for a restart", error));
      },
    });
  }

  /** Whether an admin token is set, from the environment or made at the first start. */
  get hasAdminToken(): boolean {
    return this.#tokenHash !== undefined;
  }

  /**
   * Puts a new admin token in the place of the present one, which is refused from then on. Every browser is signed out, and
   * sign-in links that were not used are void. Nothing has changed if it fails.
   *
   * @returns the new token: it is shown this once
   * @throws KeywheelError conflict if `KEYWHEEL_ADMIN_TOKEN` fixes the token, store_unavailable
   */
  async rotate(): Promise<Secret> {
    if (this.#isFixed) {
      throw new KeywheelError("conflict", "The admin token is fixed by KEYWHEEL_ADMIN_TOKEN", {
        hint: "Set another value there and start the gateway again; that signs every browser out as well.",
      });
    }
    const text = randomToken();
    const token = new Secret(text);
    this.#learnSecrets?.([token]);
    const hash = sha256(text);
    await this.#store.setMeta(metaToken, hash.toString("hex"), { tells: true });
    this.#replaceToken(hash);
    return token;
  }

  /** Takes up a token that another gateway on the same database has made. @throws KeywheelError store_unavailable */
  async catchUp(): Promise<void> {
    if (this.#isFixed) return;
    const stored = await this.#store.getMeta(metaToken);
    if (stored !== undefined && stored !== this.#tokenHash?.toString("hex")) {
      this.#replaceToken(Buffer.from(stored, "hex"));
    }
  }

  #replaceToken(hash: Buffer): void {
    this.#tokenHash = hash;
    this.#codes.clear();
    this.browsers.endAll(markOf(hash));
  }

  /**
   * Passes if the token is right, at any time.
   *
   * @param peer the address that it came from
   * @throws KeywheelError unauthorized, or too_many_attempts with the wait
   */
  check(token: string, peer: string): void {
    if (this.accepts(token)) return;
    throw this.#wrong(peer, "The admin token is wrong");
  }

  /** Whether the token is right. For one that was right before: wrong ones are not counted here. */
  accepts(token: string): boolean {
    const hash = sha256(token);
    // Every hash is looked at, so that the time does not tell which one was meant.
    const hashes = this.#tokenHash === undefined ? this.#operatorHashes : [this.#tokenHash, ...this.#operatorHashes];
    return hashes.map((other) => timingSafeEqual(hash, other)).includes(true);
  }

  /** A code that signs a browser in, once, for 15 minutes. */
  createSignInCode(): { readonly code: string; readonly expiresAt: number } {
    const now = this.#clock.now();
    for (const [hash, expiresAt] of this.#codes) if (expiresAt <= now) this.#codes.delete(hash);
    const code = randomBytes(24).toString("base64url");
    const expiresAt = now + codeLifeMs;
    this.#codes.set(sha256(code).toString("hex"), expiresAt);
    return { code, expiresAt };
  }

  /**
   * Signs a browser in by a code, which is spent with it.
   *
   * @returns the value of its cookie
   * @throws KeywheelError unauthorized, too_many_attempts
   */
  redeem(code: string, peer: string): string {
    const hash = sha256(code).toString("hex");
    const expiresAt = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (expiresAt === undefined || expiresAt <= this.#clock.now()) {
      throw this.#wrong(peer, "This sign-in link was used, or is older than 15 minutes");
    }
    return this.browsers.create();
  }

  #wrong(peer: string, message: string): KeywheelError {
    const waitMs = this.#throttle.failed(peer);
    if (waitMs === undefined) return new KeywheelError("unauthorized", message);
    return new KeywheelError("too_many_attempts", undefined, { retryAfterMs: waitMs });
  }
}

interface Saved {
  readonly sessions: string | undefined;
  readonly cookieName: string;
}

/**
 * The name of this gateway's cookie, made at its first start. Browsers do not tell the ports of a host apart: under one name,
 * two gateways on a machine would sign each other's browsers out.
 */
async function cookieNameOf({ store, warn, gateway }: AdminAuthOptions): Promise<string> {
  const name = ownName(metaCookie, { gateway });
  const kept = await store.getMeta(name);
  if (kept !== undefined) return kept;
  const made = `keywheel_session_${randomBytes(4).toString("hex")}`;
  await store.setMeta(name, made).catch((error: unknown) => {
    warn?.("could not keep the name of the cookie: browsers will have to sign in again after a restart", error);
  });
  return made;
}

/** Why a text cannot be an admin token, or undefined. */
export function problemOfAdminToken(token: string): string | undefined {
  const text = token.trim();
  if (text.length < shortestAdminToken) {
    return (
      `KEYWHEEL_ADMIN_TOKEN has ${text.length} characters; ${shortestAdminToken} are the least. ` +
      "Take a random one (openssl rand -hex 24), or unset it to have one made."
    );
  }
  if (!/^[\x21-\x7e]+$/.test(text)) {
    return "KEYWHEEL_ADMIN_TOKEN holds white space or characters that cannot be sent in a header.";
  }
  return undefined;
}

function randomToken(): string {
  return `kwa_${Array.from(randomBytes(32), (byte) => alphabet[byte & 31]).join("")}`;
}

/** Tells admin tokens apart and gives none away. */
function markOf(tokenHash: Buffer | undefined): string {
  return tokenHash === undefined ? "" : sha256(tokenHash.toString("hex")).toString("hex");
}

function ownName(name: string, { gateway }: Pick<AdminAuthOptions, "gateway">): string {
  return gateway === undefined ? name : `${name}:${gateway}`;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
