import { type Delivery as Sent, dispatch, type DispatchOutcome, safeMethods } from "../dispatch.ts";
import { PoolError, type PoolErrorCode, poolErrors } from "../errors.ts";
import type { Pool } from "../pool.ts";
import type { Clock } from "../ports/clock.ts";
import type { AttemptRecord } from "../ports/events.ts";
import type { Secret } from "../ports/secrets.ts";
import { answerRulesOf } from "../providers/answers/rules.ts";
import { credentialFor, credentialHeaders } from "../providers/credentials.ts";
import { isHostOf } from "../providers/hosts.ts";
import { objectPrint, objectsInHead, uploadInHead } from "../providers/objects.ts";
import { type OwnError, ownAnswer, refusalError } from "../providers/own-answers.ts";
import { parsedReader } from "../providers/parsed-reader.ts";
import type { Provider } from "../providers/presets.ts";
import { type Asked, askPool, scopeOf } from "../providers/question.ts";
import { ownSessionHeader, sessionOf } from "../providers/sessions.ts";
import { judge } from "../rules/judge.ts";
import type { AnswerRules } from "../rules/recognised-answer.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import { SharedValues } from "../rules/shared-values.ts";
import type { DurationMs } from "../rules/time.ts";
import type { Verdict } from "../rules/verdict.ts";
import { isTappable, ObjectTap } from "../transport/object-tap.ts";
import { startTimer } from "../transport/timer.ts";
import { FetchedAnswer } from "./fetched-answer.ts";
import { joined, type PooledRequest, readRequest } from "./request.ts";
import { respond } from "./respond.ts";

/** What requests need of the pool that they go through. */
export interface FetchParts {
  readonly pool: Pool;
  readonly provider: Provider;
  /** Another address to which keys may be sent. */
  readonly baseURL: URL | undefined;
  readonly affinityEnabled: boolean;
  readonly providerRetries: number;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  readonly secretOf: (keyId: string) => Secret | undefined;
  /** What is wrong with the variables that hold keys, a sentence each. */
  readonly unresolved: () => readonly string[];
  /** Settles when requests may be served; undefined from then on. */
  readonly ready: () => Promise<void> | undefined;
  readonly isClosed: () => boolean;
  readonly onAttempt: (requestId: string, attempt: AttemptRecord) => void;
  readonly onNotice: (verdict: Verdict) => void;
}

/** `fetch` with the keys of a pool. */
export class PooledFetch {
  readonly #parts: FetchParts;
  readonly #rules: AnswerRules;
  readonly #sharedValues = new SharedValues();
  #requests = 0;

  constructor(parts: FetchParts) {
    this.#parts = parts;
    this.#rules = answerRulesOf(parts.provider);
  }

  /** Serves one call. @throws whatever `fetch` throws: the signal's reason, or a TypeError if there was no answer */
  async serve(
    input: string | URL | Request,
    init: RequestInit | undefined,
    session: string | undefined,
  ): Promise<Response> {
    const request = await readRequest(input, init, session);
    request.signal?.throwIfAborted();
    const refused = this.#refusalOf(request);
    if (refused !== undefined) return this.#answer(refused);
    await this.#parts.ready();
    const { pool, provider, affinityEnabled, clock } = this.#parts;
    const asked = askPool(
      {
        poolId: pool.id,
        kind: provider.kind,
        preset: provider.slug,
        caller: "",
        method: request.method,
        path: request.url.pathname,
        query: request.url.search.slice(1),
        header: request.header,
        body: request.text,
        at: clock.now(),
      },
      { hasPins: pool.hasPins, affinityEnabled, sharedValues: this.#sharedValues },
      parsedReader,
    );
    return new Course(this.#parts, request, asked, this.#rules).run(String(++this.#requests));
  }

  /** The fingerprint of a session that was named with `fetch(session)` or our own header. */
  printOf(session: string): Fingerprint | undefined {
    const header = (name: string): string | undefined => (name === ownSessionHeader ? session : undefined);
    return sessionOf(scopeOf(this.#parts.pool.id, ""), header, new Map())?.fingerprint;
  }

  /** Keys go to the provider and to nobody else, whatever address a program came by. */
  #refusalOf({ url }: PooledRequest): OwnError<PoolErrorCode> | undefined {
    const { provider, isClosed } = this.#parts;
    if (isClosed()) return { code: "no_usable_key", message: "This pool of keys was closed." };
    if (isHome(url, this.#parts)) return undefined;
    const message =
      `The keys of this pool are sent to ${provider.name} only, and this request is for ${url.origin}. ` +
      "If they belong there, name that address as `baseURL` in the options of `createPool`.";
    return { code: "invalid_request", message };
  }

  #answer(error: OwnError<PoolErrorCode>): Response {
    return responseOf(this.#parts.provider, error);
  }
}

/** Whether keys may be sent there. */
function isHome(url: URL, { provider, baseURL }: Pick<FetchParts, "provider" | "baseURL">): boolean {
  if (url.protocol === "https:" && provider.hosts.some((host) => isHostOf(url.hostname, host))) return true;
  return [baseURL?.origin, URL.parse(provider.baseUrl)?.origin].includes(url.origin);
}

/** RFC 9110 §15.4; of a request that has no body, all of them mean: the same again, there. */
const redirecting = new Set([301, 302, 303, 307, 308]);
const mostHops = 5;

/** One call on its way: its attempts, and what is known of them. */
class Course {
  readonly #parts: FetchParts;
  readonly #request: PooledRequest;
  readonly #asked: Asked;
  readonly #rules: AnswerRules;
  /** What `fetch` threw in the last attempt. */
  #thrown: Error | undefined;

  constructor(parts: FetchParts, request: PooledRequest, asked: Asked, rules: AnswerRules) {
    this.#parts = parts;
    this.#request = request;
    this.#asked = asked;
    this.#rules = rules;
  }

  async run(requestId: string): Promise<Response> {
    const { pool, clock, providerRetries, onAttempt, onNotice } = this.#parts;
    const outcome = await dispatch<FetchedAnswer>({
      requestId,
      pool,
      question: this.#asked.question,
      transport: (keyId) => this.#send(keyId),
      judge: (answer) => judge(answer, this.#rules),
      replayable: this.#request.isReplayable,
      providerRetries,
      isClientGone: () => this.#isGone(),
      pause: (ms) => pause(ms, this.#request.signal),
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      onAttempt: (attempt) => onAttempt(requestId, attempt),
      onNotice,
    });
    return this.#conclude(outcome);
  }

  #isGone(): boolean {
    return this.#request.signal?.aborted === true;
  }

  async #send(keyId: string): Promise<Sent<FetchedAnswer>> {
    const { provider, secretOf, clock } = this.#parts;
    const { url, method, headers: sent, body, init, signal } = this.#request;
    if (this.#isGone()) return { kind: "gone" };
    const secret = secretOf(keyId);
    if (secret === undefined) throw new Error(`the key ${keyId} was chosen, and has no value`);
    const headers = new Headers(sent);
    headers.set(...credentialFor(provider.kind, secret, url.pathname));
    const link = new AbortLink(signal);
    this.#thrown = undefined;
    try {
      const response = await this.#fetch({ ...init, method, headers, body, signal: link.signal });
      return { kind: "answer", answer: new FetchedAnswer(response, { method }, clock.now(), link) };
    } catch (error) {
      link.release();
      if (this.#isGone()) return { kind: "gone" };
      this.#thrown = error instanceof Error ? error : new Error(String(error));
      const message = `The provider could not be reached: ${this.#parts.pool.redact(wordsOf(error))}`;
      return { kind: "broken", fault: "unreachable", repeatable: safeMethods.has(method), message };
    }
  }

  /** As `fetch` does it, but for redirects: they are followed here, so that a key goes nowhere but home. */
  async #fetch(init: RequestInit & { readonly headers: Headers }): Promise<Response> {
    const { fetch } = this.#parts;
    let { url } = this.#request;
    const follows = init.redirect === undefined || init.redirect === "follow";
    for (let hop = 0; ; hop++) {
      const response = await fetch(url.href, { ...init, ...(follows ? { redirect: "manual" } : {}) });
      // A page is not told where to.
      if (response.type === "opaqueredirect" && follows)
        throw new TypeError("The provider redirects to another address");
      const location = response.headers.get("location");
      const isFollowed = follows && redirecting.has(response.status) && location !== null && hop < mostHops;
      if (!isFollowed || !safeMethods.has(this.#request.method)) return response;
      await response.body?.cancel();
      url = new URL(location, url);
      if (!isHome(url, this.#parts)) for (const name of credentialHeaders) init.headers.delete(name);
    }
  }

  async #conclude(outcome: DispatchOutcome<FetchedAnswer>): Promise<Response> {
    switch (outcome.kind) {
      case "gone":
        this.#request.signal?.throwIfAborted();
        throw new Error("a request was given up that nobody has aborted");
      case "broken":
        throw this.#thrown ?? new PoolError("upstream_unreachable", outcome.message);
      case "refused":
        return this.#refuse(outcome);
      case "answer":
        return this.#deliver(outcome);
    }
  }

  #refuse({ choice, last }: Extract<DispatchOutcome<FetchedAnswer>, { kind: "refused" }>): Response {
    const { provider, pool, clock, unresolved } = this.#parts;
    const error = refusalError(provider, { choice, last, redact: (text) => pool.redact(text), now: clock.now() });
    const unset = choice.standing.unresolved === 0 ? [] : unresolved();
    return responseOf(provider, { ...error, message: [error.message, ...unset.map((text) => `${text}.`)].join(" ") });
  }

  async #deliver(outcome: Extract<DispatchOutcome<FetchedAnswer>, { kind: "answer" }>): Promise<Response> {
    const { answer, keyId, attempts } = outcome;
    const { pool } = this.#parts;
    const learn = (ids: readonly string[]): void =>
      pool.pin(
        keyId,
        ids.map((id) => objectPrint(pool.id, id)),
      );
    learn([...objectsInHead(answer, this.#request.method), ...uploadInHead(answer)]);
    const tap = this.#asked.mayShowObjects && isTappable(answer) ? new ObjectTap(answer, learn, tapReading) : undefined;
    const session = this.#asked.question.session?.id;
    return respond(answer, {
      marks: {
        "x-keywheel-key": headerText(keyId),
        "x-keywheel-attempts": String(attempts),
        ...(session === undefined ? {} : { "x-keywheel-session": session }),
      },
      redact: (text) => pool.redact(text),
      push: (chunk) => tap?.push(chunk),
      end: () => tap?.end(),
      finish: (ending) => outcome.finish(ending),
      isGone: () => this.#isGone(),
    });
  }
}

/** The caller's signal, and a way to end one attempt alone. */
class AbortLink {
  readonly #own = new AbortController();
  readonly #theirs: AbortSignal | undefined;
  readonly #pass = (): void => this.#own.abort(this.#theirs?.reason);

  constructor(theirs: AbortSignal | undefined) {
    this.#theirs = theirs;
    if (theirs?.aborted === true) this.#pass();
    else theirs?.addEventListener("abort", this.#pass, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(): void {
    this.#own.abort();
    this.release();
  }

  /** Nothing is under way any more: a signal that lives long must not hold it. */
  release(): void {
    this.#theirs?.removeEventListener("abort", this.#pass);
  }
}

const latin1 = (bytes: Uint8Array): string => new TextDecoder("latin1").decode(bytes);
const tapReading = {
  isCoded: false,
  latin1,
  text: (chunks: readonly Uint8Array[]): string =>
    latin1(
      joined(
        chunks,
        chunks.reduce((sum, chunk) => sum + chunk.length, 0),
      ),
    ),
};

function responseOf(provider: Provider, error: OwnError<PoolErrorCode>): Response {
  const { status, headers, body } = ownAnswer(provider.kind, error, poolErrors[error.code]);
  const named = new Headers();
  for (let at = 0; at < headers.length; at += 2) named.set(headers[at] ?? "", headers[at + 1] ?? "");
  return new Response(body, { status, headers: named });
}

/** Ended at once by an abort; what is to be done then, others know. */
function pause(ms: DurationMs, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stop();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const stop = startTimer(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** What broke, in the system's own words where there are any: `fetch` itself says "fetch failed". */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
}

/** A header takes Latin-1; the mask of a key has an ellipsis in it. */
function headerText(text: string): string {
  return text.replaceAll("…", "...").replace(/[^\x20-\x7e]/g, "?");
}
