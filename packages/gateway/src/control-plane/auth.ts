import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, KeywheelError, Secret } from "@keywheel/pool";
import type { Store } from "../store/store.ts";
import { BrowserSessions } from "./browser-sessions.ts";
import { Throttle, type ThrottleLimits } from "./throttle.ts";

export interface AdminAuthOptions {
  readonly store: Pick<Store, "getMeta" | "setMeta">;
  readonly clock: Clock;
  /** `KEYWHEEL_ADMIN_TOKEN`. While it is set it is the admin token; one that was made before counts for nothing. */
  readonly environmentToken?: string | undefined;
  /** Accepted as well: the token of the command line on this machine, derived from the master key. */
  readonly operatorToken?: Secret | undefined;
  /** Makes a token when there is none. Without it and any token, nothing under /api can be called. */
  readonly makeToken: boolean;
  readonly throttle?: ThrottleLimits;
  /** Told when browsers cannot be kept signed in over a restart. */
  readonly warn?: (message: string, error: unknown) => void;
}

export const shortestAdminToken = 16;
const codeLifeMs = 15 * 60_000;
const metaToken = "admin_token_sha256";
const metaSessions = "browser_sessions";
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
  readonly #hashes: readonly Buffer[];
  readonly #hasAdminToken: boolean;
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
    const saved = await store.getMeta(metaSessions);
    if (environmentToken !== undefined) {
      return { auth: new AdminAuth(options, sha256(environmentToken.trim()), saved), madeToken: undefined };
    }
    const stored = await store.getMeta(metaToken);
    if (stored !== undefined)
      return { auth: new AdminAuth(options, Buffer.from(stored, "hex"), saved), madeToken: undefined };
    if (!makeToken) return { auth: new AdminAuth(options, undefined, saved), madeToken: undefined };
    const text = `kwa_${Array.from(randomBytes(32), (byte) => alphabet[byte & 31]).join("")}`;
    await store.setMeta(metaToken, sha256(text).toString("hex"));
    return { auth: new AdminAuth(options, sha256(text), saved), madeToken: new Secret(text) };
  }

  private constructor(options: AdminAuthOptions, tokenHash: Buffer | undefined, savedSessions: string | undefined) {
    const { clock, operatorToken, store, warn } = options;
    this.#clock = clock;
    this.#hasAdminToken = tokenHash !== undefined;
    const operator = operatorToken === undefined ? [] : [sha256(operatorToken.reveal())];
    this.#hashes = tokenHash === undefined ? operator : [tokenHash, ...operator];
    this.#throttle = new Throttle(clock, options.throttle);
    let lastSave = Promise.resolve();
    this.browsers = new BrowserSessions({
      clock,
      saved: savedSessions,
      tokenMark: tokenHash === undefined ? "" : sha256(tokenHash.toString("hex")).toString("hex"),
      save: (text) => {
        // One after the other, so that the last word is the latest; a sign-in does not wait for it, nor fail with it.
        lastSave = lastSave
          .then(() => store.setMeta(metaSessions, text))
          .catch((error: unknown) => warn?.("could not keep the signed-in browsers for a restart", error));
      },
    });
  }

  /** Whether an admin token is set, from the environment or made at the first start. */
  get hasAdminToken(): boolean {
    return this.#hasAdminToken;
  }

  /**
   * Passes if the token is right, at any time.
   *
   * @param peer the address that it came from
   * @throws KeywheelError unauthorized, or too_many_attempts with the wait
   */
  check(token: string, peer: string): void {
    if (this.#isRight(token)) return;
    throw this.#wrong(peer, "The admin token is wrong");
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

  #isRight(token: string): boolean {
    const hash = sha256(token);
    // Every hash is looked at, so that the time does not tell which one was meant.
    return this.#hashes.map((other) => timingSafeEqual(hash, other)).includes(true);
  }

  #wrong(peer: string, message: string): KeywheelError {
    const waitMs = this.#throttle.failed(peer);
    if (waitMs === undefined) return new KeywheelError("unauthorized", message);
    return new KeywheelError("too_many_attempts", undefined, { retryAfterMs: waitMs });
  }
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

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
