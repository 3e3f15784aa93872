import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  type AttemptRecord,
  type Clock,
  credentialFor,
  brokenError,
  dispatch,
  type DispatchOutcome,
  type Ending,
  errorTable,
  isTappable,
  objectPrint,
  objectsInHead,
  type OwnError,
  ownAnswer,
  refusalError,
  type Secret,
  SharedValues,
  type Usage,
} from "@keywheel/pool";
import type { CatalogView, ProviderRuntime } from "../catalog/catalog.ts";
import { type Admitted, admit, type Passage } from "./admission.ts";
import { answerWith, deliverAnswer, type DeliveryWatcher, Presence, readOut } from "./client.ts";
import { withoutEchoes } from "./echoed-secrets.ts";
import { headerReader, requestHeaders, responseHeaders } from "./headers.ts";
import { judgeFor } from "./judging.ts";
import { ObjectTap } from "./object-tap.ts";
import { OrganizationWatch, type TellOwner } from "./organization-watch.ts";
import { askPool, type SendableBody, tieOf } from "./question.ts";
import {
  BodyBudget,
  BodyTooLargeError,
  BodyTooSlowError,
  readBody,
  type RequestBody,
  type SendingPatience,
} from "./request-body.ts";
import type { RequestRecord } from "./request-record.ts";
import type { RequestTracing } from "./request-tracing.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";
import { parseTarget } from "./target.ts";
import { type Limits, TokenLimits } from "./token-limits.ts";
import { uploadAddress, withUploadAddress } from "./upload-address.ts";
import { UpgradeClient } from "./upgrade-client.ts";
import { relay } from "./upgrade-relay.ts";
import { UpgradedAnswer } from "./upgraded-answer.ts";
import type { Upstream, UpstreamResult } from "./upstream.ts";
import {
  handshakeHeaders,
  handshakeReader,
  refuseUpgrade,
  switchingHead,
  withoutQueryCredentials,
} from "./websocket-handshake.ts";

export interface DataPlaneDeps {
  readonly catalog: CatalogView;
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** @param startedAt when the request began, epoch ms */
  readonly newId: (startedAt: number) => string;
  /** Whether a request without a gateway token comes from our own pages in a browser that is signed in. */
  readonly isOwnPage: (request: IncomingMessage) => boolean;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  /** Takes the values that are known out of a text, and nothing else. */
  readonly redactKnown: (text: string) => string;
  /** Told that a request goes to a key now, before it is sent; it has left the one before. Never throws. */
  readonly onAsk?: (requestId: string, keyId: string) => void;
  /** Default: nobody follows. */
  readonly tracing?: RequestTracing | undefined;
  readonly onAttempt: (providerId: string, requestId: string, attempt: AttemptRecord) => void;
  readonly onNotice: (providerId: string, code: string, message: string | undefined) => void;
  /** Told now and then whose key the provider says that it is. */
  readonly onOrganization: TellOwner;
  readonly onRequest: (record: RequestRecord) => void;
  /** A fault of our own: what was being done, and the error. */
  readonly onFault: (what: string, error: unknown) => void;
  readonly version: string;
  /** A larger body is streamed once, without a second try; default 64 MiB. */
  readonly replayBytes?: number;
  /** What bodies of all requests together may take; default 512 MiB. */
  readonly budgetBytes?: number;
  /** Refuses what the machine cannot carry; default: nothing. @param running requests under way, this one included */
  readonly refusal?: (running: number) => OwnError | undefined;
  readonly patience?: ClientPatience;
  /** Holds tokens to their limits; default: counts in this process. */
  readonly limits?: Limits;
}

/** How long clients are waited for that hold up what they asked for themselves. */
export interface ClientPatience {
  readonly sending?: SendingPatience;
  /** For one that does not read its answer, ms; default 5 min. */
  readonly unreadMs?: number;
}

const defaultReplayBytes = 64 * 1024 * 1024;
/** How long an error of the provider may be held back to see whether it repeats our key. */
const echoWaitMs = 2_000;
const defaultBudgetBytes = 512 * 1024 * 1024;

type Outcome<K extends string> = Extract<DispatchOutcome<StreamedAnswer>, { kind: K }>;

/** How a request ended for its client. */
interface Result {
  /** 0 if the client left before it got anything. */
  readonly status: number;
  readonly ending: RequestRecord["ending"];
  readonly error?: string;
  readonly keyId?: string;
  readonly firstByteMs?: number;
  readonly responseBytes?: number;
  readonly usage?: Usage;
}

interface DeliveryOptions {
  /** Our own headers, flat name, value, name, value. */
  readonly marks: readonly string[];
  /** Whose answer it is. */
  readonly keyId: string;
  readonly watcher?: DeliveryWatcher;
  /** Told of objects that the answer's head shows. */
  readonly learn?: (ids: readonly string[]) => void;
}

const unwatched: DeliveryWatcher = { ended: () => undefined };
const leftEarly: Result = { status: 0, ending: "gone" };

/**
 * Stands in for providers: `/<slug>/<path>` goes to the provider's base URL with one of its keys, and what comes back goes
 * to the client, byte for byte.
 *
 * @see contract §2
 */
export class DataPlane {
  readonly #deps: DataPlaneDeps;
  readonly #budget: BodyBudget;
  readonly #sharedValues = new SharedValues();
  readonly #organizations: OrganizationWatch;
  readonly #limits: Limits;
  #running = 0;

  constructor(deps: DataPlaneDeps) {
    this.#organizations = new OrganizationWatch(deps.onOrganization);
    this.#deps = deps;
    this.#budget = new BodyBudget(deps.budgetBytes ?? defaultBudgetBytes);
    this.#limits = deps.limits ?? new TokenLimits(deps.clock);
  }

  /** Requests under way. */
  get running(): number {
    return this.#running;
  }

  /**
   * Serves one request; never rejects.
   *
   * @param expectsContinue the client waits for `100 Continue` before it sends its body
   */
  handle(request: IncomingMessage, response: ServerResponse, expectsContinue = false): Promise<void> {
    return this.#handle(request, response, { expectsContinue });
  }

  /**
   * Serves one request that asks for a WebSocket, and the connection that comes of it, to its end; never rejects.
   *
   * @param head what came behind the request's head
   */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const upgrade = new UpgradeClient(request, socket, head);
    return this.#handle(request, upgrade.response, { upgrade });
  }

  async #handle(
    request: IncomingMessage,
    response: ServerResponse,
    { expectsContinue = false, upgrade }: { readonly expectsContinue?: boolean; readonly upgrade?: UpgradeClient },
  ): Promise<void> {
    this.#running++;
    // A client that breaks off in the middle of its body is no error of ours; `Presence` tells who needs to know.
    request.on("error", ignore);
    response.on("error", ignore);
    const passage = this.#begin(request, response, upgrade);
    this.#deps.tracing?.began(passage);
    try {
      this.#report(passage, await this.#serve(passage, expectsContinue));
    } catch (error) {
      this.#deps.onFault(`serving request ${passage.requestId}`, error);
      this.#report(passage, this.#apologise(passage));
    } finally {
      this.#running--;
    }
  }

  /** Answers after a fault of ours, which must not become one of everybody's. */
  #apologise(passage: Passage): Result {
    const { response } = passage;
    try {
      // What the head was to say may be the very fault.
      response.statusMessage = "";
      return this.#answer(passage, { code: "internal" });
    } catch (error) {
      this.#deps.onFault(`answering request ${passage.requestId} after a fault`, error);
      response.destroy();
      return leftEarly;
    }
  }

  #begin(request: IncomingMessage, response: ServerResponse, upgrade: UpgradeClient | undefined): Passage {
    const { catalog, clock, newId } = this.#deps;
    const { rawHeaders } = request;
    const target = parseTarget(request.url ?? "") ?? { slug: "", rest: "", query: "" };
    const runtime = catalog.bySlug(target.slug);
    const startedAt = clock.now();
    return {
      requestId: newId(startedAt),
      request,
      response,
      presence: new Presence(response),
      upgrade,
      target: upgrade === undefined ? target : { ...target, query: withoutQueryCredentials(target.query) },
      runtime,
      header: upgrade === undefined ? headerReader(rawHeaders) : handshakeReader(rawHeaders, target.query),
      startedAt,
      startedMono: clock.monotonic(),
      ledger: { requestBytes: 0, attempts: [] },
    };
  }

  async #serve(passage: Passage, expectsContinue: boolean): Promise<Result> {
    const overload = this.#deps.refusal?.(this.#running);
    if (overload !== undefined) return this.#answer(passage, overload);
    const admitted = admit(passage, this.#deps.catalog, this.#deps.isOwnPage);
    if ("code" in admitted) return this.#answer(passage, admitted);
    const { token, ledger } = admitted;
    if (token !== undefined) ledger.tokenId = token.id;
    const entering = this.#limits.enter(token);
    // Not awaited where nobody else is asked: that would cost every request a turn.
    const entry = entering instanceof Promise ? await entering : entering;
    if ("code" in entry) return this.#answer(passage, entry);
    let body: RequestBody | undefined;
    try {
      const refused = admitted.upgrade === undefined ? undefined : refuseUpgrade(admitted.request);
      if (refused !== undefined) return this.#answer(admitted, { code: "invalid_request", message: refused });
      const reading = this.#readBody(admitted, expectsContinue);
      if (reading instanceof Promise) {
        const { clock } = this.#deps;
        const readMono = clock.monotonic();
        body = await reading;
        const bodyMs = clock.monotonic() - readMono;
        // Nearly always it came with the head.
        if (bodyMs >= 1) ledger.bodyMs = bodyMs;
      } else body = reading;
      if (body.kind === "gone") return leftEarly;
      if (body.kind === "too-large") return this.#tooLarge(admitted);
      if (body.kind === "too-slow") return this.#tooSlow(admitted);
      ledger.requestBytes = lengthOf(body);
      // The provider may have heard enough, and its answer wait for a client that does not read before it has said all.
      if (body.kind === "streamed") body.stream.once("close", () => readOut(admitted.request, admitted.response));
      return await (admitted.runtime.hasKeys ? this.#viaPool(admitted, body) : this.#viaProviderKey(admitted, body));
    } catch (error) {
      if (error instanceof BodyTooLargeError) return this.#tooLarge(admitted);
      if (error instanceof BodyTooSlowError) return this.#tooSlow(admitted);
      throw error;
    } finally {
      if (body?.kind === "buffered") body.release();
      entry.leave();
    }
  }

  #readBody({ request, response, runtime }: Admitted, expectsContinue: boolean): RequestBody | Promise<RequestBody> {
    return readBody(request, {
      maxBytes: runtime.settings.maxBodyBytes,
      replayBytes: this.#deps.replayBytes ?? defaultReplayBytes,
      budget: this.#budget,
      patience: this.#deps.patience?.sending,
      onWelcome: () => {
        if (expectsContinue) response.writeContinue();
      },
    });
  }

  async #viaPool(passage: Admitted, body: SendableBody): Promise<Result> {
    const { runtime, requestId, ledger } = passage;
    const { clock, onAsk, onAttempt, onNotice } = this.#deps;
    const { question, model, mayShowObjects } = askPool(passage, body, this.#sharedValues);
    if (model !== undefined) ledger.model = model;
    if (question.session !== undefined) ledger.sessionId = question.session.id;
    const tie = tieOf(question);
    if (tie !== undefined) ledger.tie = tie;
    const outcome = await dispatch<StreamedAnswer>({
      requestId,
      pool: runtime.pool,
      question,
      transport: (keyId) => {
        onAsk?.(requestId, keyId);
        return this.#send(passage, body, runtime.secretOf(keyId));
      },
      judge: judgeFor(runtime.record),
      replayable: body.kind !== "streamed",
      providerRetries: runtime.settings.retry.providerErrors,
      isClientGone: () => passage.presence.isGone,
      pause: (ms) => delay(ms),
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      onAttempt: (attempt) => {
        ledger.attempts.push(attempt);
        onAttempt(runtime.record.id, requestId, attempt);
      },
      onNotice: (verdict) => onNotice(runtime.record.id, verdict.notice ?? verdict.code, verdict.message),
    });
    return await this.#conclude(passage, outcome, mayShowObjects);
  }

  #conclude(
    passage: Admitted,
    outcome: DispatchOutcome<StreamedAnswer>,
    mayShowObjects: boolean,
  ): Result | Promise<Result> {
    const marks = ["x-keywheel-attempts", String(outcome.attempts)];
    if (passage.ledger.sessionId !== undefined) marks.push("x-keywheel-session", passage.ledger.sessionId);
    switch (outcome.kind) {
      case "gone":
        return leftEarly;
      case "refused":
        passage.ledger.standing = outcome.choice.standing;
        return this.#answer(passage, this.#refusal(passage.runtime, outcome), marks);
      case "broken":
        marks.push("x-keywheel-key", outcome.keyId);
        return { ...this.#answer(passage, brokenError(passage.runtime.record, outcome), marks), keyId: outcome.keyId };
      case "answer": {
        marks.push("x-keywheel-key", outcome.keyId);
        this.#organizations.look(passage.runtime, outcome.keyId, outcome.answer, passage.startedAt);
        if (outcome.answer instanceof UpgradedAnswer) return this.#concludeUpgrade(passage, outcome, marks);
        const learn = (ids: readonly string[]): void => pinObjects(passage.runtime, outcome.keyId, ids);
        learn(objectsInHead(outcome.answer, passage.request.method ?? ""));
        const tap = mayShowObjects && isTappable(outcome.answer) ? new ObjectTap(outcome.answer, learn) : undefined;
        const watcher = {
          push: (chunk: Buffer) => tap?.push(chunk),
          end: () => tap?.end(),
          ended: (ending: Ending) => outcome.finish(ending),
        };
        const options = { marks, keyId: outcome.keyId, watcher, learn };
        const shown = this.#shown(passage, outcome.answer);
        if (!(shown instanceof Promise)) return this.#deliver(passage, shown, options);
        return shown.then((answer) => this.#deliver(passage, answer, options));
      }
    }
  }

  /**
   * The provider has let the key in, and that is its success: what is said on the connection, perhaps for hours, is not
   * judged, and the key's count of failures must not wait for its end.
   */
  async #concludeUpgrade(passage: Admitted, outcome: Outcome<"answer">, marks: readonly string[]): Promise<Result> {
    const finished = outcome.finish({ kind: "completed" })?.catch((error: unknown) => {
      this.#deps.onFault(`recording the success of request ${passage.requestId}`, error);
    });
    const result = await this.#deliver(passage, outcome.answer, { marks, keyId: outcome.keyId });
    await finished;
    return result;
  }

  #refusal({ record }: ProviderRuntime, { choice, last }: Outcome<"refused">): OwnError {
    const { redact, clock } = this.#deps;
    return refusalError(record, { choice, last, redact, now: clock.now() });
  }

  /** An empty pool is served by the provider-level key, if there is one; its answers are given back as they are. */
  async #viaProviderKey(passage: Admitted, body: SendableBody): Promise<Result> {
    const { runtime } = passage;
    const secret = runtime.providerSecret();
    if (secret === undefined) {
      const message = `The provider "${runtime.record.name}" has no key in its pool and no usable key of its own.`;
      return this.#answer(passage, { code: "no_usable_key", message });
    }
    let sent = await this.#send(passage, body, secret);
    const repeats = sent.kind === "broken" && sent.repeatable && body.kind !== "streamed";
    if (repeats) sent = await this.#send(passage, body, secret);
    const marks = ["x-keywheel-attempts", repeats ? "2" : "1", "x-keywheel-key", "provider"];
    if (sent.kind === "gone") return leftEarly;
    if (sent.kind === "broken") return this.#answer(passage, brokenError(runtime.record, sent), marks);
    // Nobody has judged it, so that nothing of it was waited for yet.
    const shown = await this.#shown(passage, sent.answer, echoWaitMs);
    return await this.#deliver(passage, shown, { marks, keyId: "provider" });
  }

  #send(passage: Admitted, body: SendableBody, secret: Secret | undefined): Promise<UpstreamResult> {
    const { runtime, request, path, pathOnly, presence, upgrade } = passage;
    if (secret === undefined) throw new Error("a key was chosen whose value cannot be resolved");
    const headers = (upgrade === undefined ? requestHeaders : handshakeHeaders)(request.rawHeaders);
    headers.push(...credentialFor(runtime.record.kind, secret, pathOnly));
    if (passage.header("user-agent") === undefined) headers.push("user-agent", `keywheel/${this.#deps.version}`);
    if (body.kind === "streamed" && body.lengthBytes !== undefined)
      headers.push("content-length", String(body.lengthBytes));
    this.#deps.tracing?.attempt(passage.requestId, headers);
    const sending = this.#deps.upstream.send({
      origin: runtime.baseUrl.origin,
      method: request.method ?? "GET",
      path,
      headers,
      body: contentOf(body),
      upgrade: upgrade === undefined ? undefined : "websocket",
      timeouts: runtime.settings.timeouts,
      presence,
    });
    // Only a POST makes something: what was made before and is read again was counted before.
    return sending.then(request.method === "POST" ? meterMade : blameClient);
  }

  #shown({ request }: Admitted, answer: StreamedAnswer, waitMs = 0): StreamedAnswer | Promise<StreamedAnswer> {
    const { redactKnown } = this.#deps;
    return withoutEchoes(answer, { method: request.method ?? "GET", redactKnown, waitMs });
  }

  async #deliverUpgrade(
    { ledger, startedMono }: Admitted,
    upgrade: UpgradeClient,
    answer: UpgradedAnswer,
    { marks, keyId }: DeliveryOptions,
  ): Promise<Result> {
    const firstByteMs = this.#deps.clock.monotonic() - startedMono;
    const { socket: client, early } = upgrade.take();
    client.write(switchingHead(answer.rawHeaders, marks));
    const { ending, clientBytes, providerBytes } = await relay({
      client,
      provider: answer.connection,
      early,
      unreadMs: this.#deps.patience?.unreadMs,
    });
    ledger.requestBytes = clientBytes;
    return { status: answer.status, ending, keyId, firstByteMs, responseBytes: providerBytes };
  }

  async #deliver(passage: Admitted, answer: StreamedAnswer, options: DeliveryOptions): Promise<Result> {
    const { upgrade } = passage;
    if (answer instanceof UpgradedAnswer && upgrade !== undefined)
      return this.#deliverUpgrade(passage, upgrade, answer, options);
    const { marks, keyId, watcher = unwatched, learn } = options;
    const firstByteMs = this.#deps.clock.monotonic() - passage.startedMono;
    const { statusText, headers: own } = this.#headOf(answer);
    const upload = uploadAddress(answer, passage);
    if (upload?.uploadId !== undefined) learn?.([upload.uploadId]);
    const headers = upload === undefined ? own : withUploadAddress(own, upload.url);
    headers.push(...marks);
    guard(headers, answer);
    const { ending, bytes } = await deliverAnswer(
      passage.response,
      answer,
      { statusText, headers },
      passage.presence,
      watcher,
      this.#deps.patience?.unreadMs,
    );
    const { usage } = answer;
    const result = { status: answer.status, ending: ending.kind, keyId, firstByteMs, responseBytes: bytes };
    return usage === undefined ? result : { ...result, usage };
  }

  /** Phrase and headers of an answer; some providers write the key into those of an error. */
  #headOf({ status, statusText, rawHeaders }: StreamedAnswer): { statusText: string; headers: string[] } {
    const headers = responseHeaders(rawHeaders);
    if (status < 400) return { statusText, headers };
    const { redactKnown } = this.#deps;
    return {
      statusText: redactKnown(statusText),
      headers: headers.map((item, at) => (at % 2 === 1 ? redactKnown(item) : item)),
    };
  }

  #tooLarge(passage: Admitted): Result {
    const limit = passage.runtime.settings.maxBodyBytes;
    const message = `The request body is larger than the ${limit} bytes that this provider's settings allow.`;
    return this.#answer(passage, { code: "body_too_large", message });
  }

  #tooSlow(passage: Admitted): Result {
    const { request, response } = passage;
    // Ended, not reset: the client shall read why. What it still sends is read out for a few seconds.
    response.once("finish", () => request.socket.end());
    const message = "The request body stopped coming, or came too slowly to be waited for.";
    return this.#answer(passage, { code: "invalid_request", status: 408, message });
  }

  #answer(passage: Passage, error: OwnError, marks: readonly string[] = []): Result {
    if (passage.presence.isGone) return leftEarly;
    const { status, headers, body } = ownAnswer(passage.runtime?.record.kind, error, errorTable[error.code]);
    const firstByteMs = this.#deps.clock.monotonic() - passage.startedMono;
    answerWith(passage.request, passage.response, status, [...headers, ...marks], body);
    return { status, error: error.code, ending: "completed", firstByteMs, responseBytes: body.length };
  }

  #report(passage: Passage, result: Result): void {
    const { requestId, target, request, runtime, startedAt, startedMono, ledger } = passage;
    this.#deps.onRequest({
      requestId,
      providerId: runtime?.record.id,
      slug: target.slug,
      method: request.method ?? "",
      path: target.rest,
      startedAt,
      durationMs: this.#deps.clock.monotonic() - startedMono,
      ...ledger,
      ...result,
    });
  }
}

/** @throws what a body of the client's broke off with */
function blameClient(result: UpstreamResult): UpstreamResult {
  if (result.kind === "broken" && isClientsFault(result.cause)) throw result.cause;
  return result;
}

function meterMade(result: UpstreamResult): UpstreamResult {
  if (result.kind === "answer") result.answer.meterUsage();
  return blameClient(result);
}

function isClientsFault(cause: unknown): boolean {
  return cause instanceof BodyTooLargeError || cause instanceof BodyTooSlowError;
}

function pinObjects({ pool, record }: ProviderRuntime, keyId: string, ids: readonly string[]): void {
  pool.pin(
    keyId,
    ids.map((id) => objectPrint(record.id, id)),
  );
}

/** Adds headers that protect the way of an answer through this origin and through proxies in front of it. */
function guard(headers: string[], answer: StreamedAnswer): void {
  const contentType = answer.header("content-type") ?? "";
  if (contentType === "application/json") return;
  // A page of the provider would run under this gateway's origin, where the operator is signed in. Drawings and other XML
  // run scripts as well, and what is of no type may be taken for a page. Of several types browsers take the last.
  if (contentType.trim() === "" || /,|^(text\/html|[^;]*\bxml\b|image\/svg)/i.test(contentType)) {
    headers.push("content-security-policy", "sandbox");
    return;
  }
  const isStream = /^text\/event-stream/i.test(contentType);
  if (isStream && answer.header("x-accel-buffering") === undefined) headers.push("x-accel-buffering", "no");
}

function contentOf(body: SendableBody): UpstreamContent {
  if (body.kind === "none") return undefined;
  return body.kind === "buffered" ? body.pieces : body.stream;
}

type UpstreamContent = Parameters<Upstream["send"]>[0]["body"];

function lengthOf(body: SendableBody): number {
  if (body.kind === "buffered") return body.pieces.length;
  return body.kind === "streamed" ? (body.lengthBytes ?? 0) : 0;
}

function ignore(): void {
  // Deliberately nothing; see where it is used.
}
