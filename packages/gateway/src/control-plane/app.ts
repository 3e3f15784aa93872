import { OpenAPIHono } from "@hono/zod-openapi";
import type { HttpBindings } from "@hono/node-server";
import { type Clock, KeywheelError } from "@keywheel/pool";
import { bodyLimit } from "hono/body-limit";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { Context, MiddlewareHandler } from "hono";
import type { Activity } from "../activity/activity.ts";
import type { Notice } from "../activity/notice-book.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { ConfigState } from "../contract/config-file.ts";
import { fieldErrorsOf } from "../contract/field-errors.ts";
import type { KeyTestResult } from "../contract/key.ts";
import type { LoadState } from "../telemetry/load-watch.ts";
import type { Store, WebhookRecord } from "../store/store.ts";
import type { AdminAuth } from "./auth.ts";
import type { EventHub } from "./event-hub.ts";
import { addDocument } from "./openapi.ts";
import type { Pages } from "./pages.ts";
import { answerProblem } from "./problems.ts";
import { addConfigRoutes } from "./routes/config.ts";
import { addAffinityRoutes } from "./routes/affinity.ts";
import { addEnvironmentRoutes } from "./routes/environment.ts";
import { addEventRoutes } from "./routes/events.ts";
import { addHealthRoutes } from "./routes/health.ts";
import { addKeyRoutes } from "./routes/keys.ts";
import { addNoticeRoutes } from "./routes/notices.ts";
import { addPageRoutes } from "./routes/pages.ts";
import { addProviderRoutes } from "./routes/providers.ts";
import { addRequestRoutes } from "./routes/requests.ts";
import { addSessionRoutes } from "./routes/sessions.ts";
import { addSignInRoutes } from "./routes/sign-in.ts";
import { addStatusRoutes } from "./routes/status.ts";
import { addTokenRoutes } from "./routes/tokens.ts";
import { addTransferRoutes } from "./routes/transfer.ts";
import { addUsageRoutes } from "./routes/usage.ts";
import { addWebhookRoutes } from "./routes/webhooks.ts";
import { signedIn } from "./signed-in.ts";

/** What is known of the running gateway. */
export interface GatewayInfo {
  readonly version: string;
  /** Epoch ms. */
  readonly startedAt: number;
  /** Where it listens; empty while it does not. */
  readonly urls: () => readonly string[];
  /** False while stored values were sealed with another master key. */
  readonly masterKeyOk: () => boolean;
  /** Where state is kept, and why it is not shared just now. */
  readonly sharing: { readonly kind: "memory" | "redis"; readonly trouble: () => string | undefined };
  /** What it carries now, and may. */
  readonly load: () => LoadState & { readonly running: number; readonly mostRunning: number };
}

/** The file of configuration that is followed. */
export interface ConfigPlane {
  state(): ConfigState;
  /** Reads it again. */
  reload(): Promise<ConfigState>;
}

export interface WebhookTestOutcome {
  readonly delivered: boolean;
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  /** Empty if it was delivered. */
  readonly problem: string;
  readonly durationMs: number;
}

export interface ControlPlaneDeps {
  readonly catalog: Catalog;
  readonly store: Pick<Store, "listSessions" | "listDeliveries" | "trouble">;
  readonly auth: AdminAuth;
  readonly activity: Pick<Activity, "requests" | "request" | "usage" | "affinity" | "session">;
  readonly notices: {
    /** Brings those up to date that no event tells of. */
    check(): void;
    list(): readonly Notice[];
    /** @returns false if there is no such notice */
    dismiss(id: string): boolean;
  };
  readonly events: EventHub;
  readonly clock: Clock;
  readonly info: GatewayInfo;
  /** A cheap call to the provider with exactly this key, which changes nothing. Expected outcomes are values. */
  readonly testKey: (providerId: string, keyId: string, signal: AbortSignal) => Promise<KeyTestResult>;
  /** Sends one message there at once, and keeps what became of it. @throws KeywheelError store_unavailable */
  readonly testWebhook: (hook: WebhookRecord, signal: AbortSignal) => Promise<WebhookTestOutcome>;
  /**
   * The models that a provider names; no key is judged by its answer.
   *
   * @throws KeywheelError unknown_provider, no_usable_key, upstream_unreachable
   */
  readonly listModels: (provider: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Writes down the sessions that were used, so that lists are true. */
  readonly flushSessions: () => Promise<void>;
  /** Why no request should be sent here, while the gateway starts or stops; undefined otherwise. */
  readonly notReady?: () => string | undefined;
  /** Told of what is answered with 500. */
  readonly onError?: (error: unknown, request: { readonly method: string; readonly path: string }) => void;
  /** The file of configuration; left out where none is followed. */
  readonly config?: ConfigPlane | undefined;
  /** The settings pages; a page of a few words stands in for them where they were not built. */
  readonly pages?: Pages | undefined;
  /** Between two signs of life on the event stream; default 15 s. */
  readonly keepAliveMs?: number;
}

/** What handlers find beside the request. */
export interface ControlEnv {
  readonly Variables: {
    /** Asked again later by answers that last. */
    readonly isStillAllowed: () => boolean;
  };
  /** Absent when the app is called in process. */
  readonly Bindings: Partial<HttpBindings>;
}

export type ControlApp = OpenAPIHono<ControlEnv>;

const mebibyte = 1_048_576;
const bodyBytes = 8 * mebibyte;
const importBodyBytes = 16 * mebibyte;

/**
 * The control plane: `/api`, `/ui`, health. Usable without a socket, by `app.request`.
 *
 * It trusts that the doors (`judgeVisitor`) were asked before, where a socket is in front of it.
 */
export function createControlPlane(deps: ControlPlaneDeps): ControlApp {
  const app: ControlApp = new OpenAPIHono<ControlEnv>({
    defaultHook: async (result, c) => {
      if (result.success) return;
      const input: unknown = result.target === "json" ? await bodyOf(c) : c.req.query();
      const details = fieldErrorsOf(result.error, input);
      throw new KeywheelError("validation_failed", details[0]?.message, { details });
    },
  });
  app.onError((error, c) => answerProblem(c, error, hasLeft(c) ? undefined : deps.onError));
  app.notFound((c) => answerProblem(c, new KeywheelError("not_found", "There is nothing at this path")));

  app.use(securityHeaders);
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        c.header("allow", methods.join(", "));
        return answerProblem(c, new KeywheelError("method_not_allowed"));
      },
    }),
  );
  app.use("/api/*", signedIn(deps.auth));
  app.use("/api/*", jsonBodies);
  app.use("/api/*", limitBody);

  addHealthRoutes(app, deps);
  addSignInRoutes(app, deps);
  addStatusRoutes(app, deps);
  addProviderRoutes(app, deps);
  addKeyRoutes(app, deps);
  addEnvironmentRoutes(app, deps);
  addTokenRoutes(app, deps);
  addSessionRoutes(app, deps);
  addRequestRoutes(app, deps);
  addUsageRoutes(app, deps);
  addAffinityRoutes(app, deps);
  addNoticeRoutes(app, deps);
  addWebhookRoutes(app, deps);
  addTransferRoutes(app, deps);
  addConfigRoutes(app, deps);
  addEventRoutes(app, deps);
  addDocument(app, { version: deps.info.version, browsers: deps.auth.browsers });
  addPageRoutes(app, deps);
  return app;
}

/** A client that breaks off in the middle of its body ends the call with an error, which is no fault of ours to be told. */
function hasLeft(c: Context<ControlEnv>): boolean {
  // In process there is no environment at all, whatever the type says.
  const incoming = (c.env as ControlEnv["Bindings"] | undefined)?.incoming;
  return incoming?.destroyed === true && !incoming.complete;
}

const securityHeaders: MiddlewareHandler<ControlEnv> = async (c, next) => {
  await next();
  c.res.headers.set("x-content-type-options", "nosniff");
  c.res.headers.set("referrer-policy", "no-referrer");
  c.res.headers.set("x-frame-options", "DENY");
  c.res.headers.set("cross-origin-resource-policy", "same-origin");
  c.res.headers.set("cross-origin-opener-policy", "same-origin");
  if (!c.res.headers.has("content-security-policy")) {
    c.res.headers.set("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
  }
  if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
};

/** A form or a plain text can be posted by a page of any site without being asked first; JSON cannot. */
const jsonBodies: MiddlewareHandler<ControlEnv> = async (c, next) => {
  const type = c.req.header("content-type");
  const isRead = c.req.method === "GET" || c.req.method === "HEAD" || c.req.method === "OPTIONS";
  if (!isRead && type !== undefined && !isJson(type)) throw new KeywheelError("unsupported_media_type");
  await next();
};

/** What came as JSON. Without a content type nothing has tried to read it yet, and it may be none: then its fields are missing. */
async function bodyOf(c: Context): Promise<unknown> {
  try {
    return (await c.req.json()) as unknown;
  } catch {
    return {};
  }
}

function isJson(contentType: string): boolean {
  return /^application\/json\s*(;.*)?$/i.test(contentType.trim());
}

const refuseBody = (c: Context): Response => answerProblem(c, new KeywheelError("body_too_large"));
const limitAny = bodyLimit({ maxSize: bodyBytes, onError: refuseBody });
const limitImport = bodyLimit({ maxSize: importBodyBytes, onError: refuseBody });

const limitBody: MiddlewareHandler<ControlEnv> = (c, next) =>
  (c.req.path.endsWith("/import") ? limitImport : limitAny)(c, next);
