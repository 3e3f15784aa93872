import type { Operations } from "./openapi.ts";
import { ApiError, toApiError } from "./problem.ts";
import { noteServerTime } from "./server-time.ts";
import { sendSignedIn } from "./sign-in-gate.ts";

/** Parts of a call that it needs, and none that it does not take. */
type Parts<Name extends keyof Operations> = {
  readonly [
    Part in "params" | "query" | "body" as Operations[Name][Part] extends undefined ? never : Part
  ]: Operations[Name][Part];
};

interface Options {
  readonly signal?: AbortSignal | undefined;
}

type Args<Name extends keyof Operations> = keyof Parts<Name> extends never
  ? [options?: Options]
  : [options: Parts<Name> & Options];

interface AnyParts extends Options {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/** Calls by which a browser signs in and out: to sign in again first would make no sense. */
const ownSignIn: ReadonlySet<keyof Operations> = new Set(["POST /api/sign-in", "POST /api/sign-out"]);

/**
 * Calls the control plane: `call("PATCH /api/keys/{id}", { params: { id }, body: { weight: 3 } })`.
 *
 * Where the browser turns out to be signed out while a page is shown, it waits until somebody has signed in again, and is
 * sent once more.
 *
 * @throws ApiError for every answer that is not 2xx, and where there is none
 */
export async function call<Name extends keyof Operations>(
  name: Name,
  ...[options = {}]: Args<Name>
): Promise<Operations[Name]["answer"]> {
  const { params = {}, query = {}, body, signal } = options as AnyParts;
  const [method = "GET", template = ""] = name.split(" ");
  const init: RequestInit = {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    ...(signal ? { signal } : {}),
  };
  const response = await sendSignedIn(
    () => send(pathOf(template, params, query), init),
    ({ status }) => status === 401 && !ownSignIn.has(name),
    signal,
  );
  noteServerTime(response.headers.get("date"));
  if (!response.ok) throw await toApiError(response);
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return (isJson ? await response.json() : undefined) as Operations[Name]["answer"];
}

/** Whether this browser is signed in now; nobody is asked to. */
export async function isSignedIn(): Promise<boolean> {
  const response = await send("/api/status", {}).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, credentials: "same-origin" });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError({ status: 0, code: "offline", detail: "The gateway does not answer" }, { cause });
  }
}

function pathOf(
  template: string,
  params: NonNullable<AnyParts["params"]>,
  query: NonNullable<AnyParts["query"]>,
): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const pairs = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs).toString()}`;
}
