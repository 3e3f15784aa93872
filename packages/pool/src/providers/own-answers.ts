import type { ErrorCode, ErrorEntry, PoolErrorCode } from "../errors.ts";
import type { Choice, Standing } from "../ports/shared-state.ts";
import type { EpochMs } from "../rules/time.ts";
import { shapeError } from "./error-shapes.ts";
import type { ProviderKind } from "./kinds.ts";

/** An error that is answered in the provider's stead. */
export interface OwnAnswer {
  readonly status: number;
  /** Flat name, value, name, value. */
  readonly headers: string[];
  readonly body: string;
}

export interface OwnError<Code extends ErrorCode = ErrorCode> {
  readonly code: Code;
  /** What happened; without secrets. The table's hint is put behind it. */
  readonly message?: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

/** A provider as far as errors speak of it. */
interface NamedProvider {
  readonly name: string;
  readonly kind: ProviderKind;
}

/** What a pool came to that had no key left for a request. */
export interface Refused {
  readonly choice: Exclude<Choice, { kind: "key" }>;
  /** What the provider said to the last attempt, if there was one. */
  readonly last: { readonly status: number; readonly message: string | undefined } | undefined;
  /** Takes every secret out of what the provider said. */
  readonly redact: (text: string) => string;
  readonly now: EpochMs;
}

/**
 * The error for a request that no key was left for.
 *
 * @see contract §2, table of codes; §4 rule 8
 */
export function refusalError(
  { name, kind }: NamedProvider,
  { choice, last, redact, now }: Refused,
): OwnError<PoolErrorCode> {
  const said = last?.message === undefined ? last : { ...last, message: redact(last.message) };
  const message = refusalMessage(name, choice.standing, said);
  if (choice.kind === "none-usable") return { code: "no_usable_key", message };
  const retryAfterMs = Math.max(0, choice.until - now);
  const overloaded = choice.overload ? { status: kind === "anthropic" ? 529 : 503 } : {};
  return { code: "pool_exhausted", message, retryAfterMs, ...overloaded };
}

/** The error for a request that got no answer. */
export function brokenError(
  { name }: Pick<NamedProvider, "name">,
  { fault, message }: { readonly fault: "timeout" | "unreachable"; readonly message: string },
): OwnError {
  const code = fault === "timeout" ? "upstream_timeout" : "upstream_unreachable";
  return { code, message: `${message} (Provider "${name}".)` };
}

/** The longest wait that the OpenAI SDK obeys; beyond it, it repeats at once unless told not to (reference §6). */
const longestClientWaitMs = 60_000;

/**
 * Such an error as the client of this provider expects it.
 *
 * @param kind  undefined where no provider is known: the commonest shape
 * @param entry what the error's code means
 * @see contract §2, table of codes
 */
export function ownAnswer(kind: ProviderKind | undefined, error: OwnError, entry: ErrorEntry): OwnAnswer {
  const status = error.status ?? entry.status;
  const message = `${error.message ?? `${entry.title}.`} ${entry.hint}`;
  const { retryAfterMs } = error;
  const headers = ["content-type", "application/json", "x-keywheel-error", error.code, "cache-control", "no-store"];
  if (retryAfterMs !== undefined) {
    headers.push("retry-after", String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  }
  if (error.code === "no_usable_key" || (retryAfterMs ?? 0) > longestClientWaitMs)
    headers.push("x-should-retry", "false");
  const body = JSON.stringify(shapeError(kind ?? "openai", { code: error.code, status, message, retryAfterMs }));
  return { status, headers, body };
}

/**
 * What to tell a client when no key could serve: how many rest, are disabled or unresolved, and what the provider said
 * last.
 *
 * @param last the provider's last word, secrets taken out already
 * @see contract §4 rule 8
 */
function refusalMessage(
  provider: string,
  standing: Standing,
  last: { readonly status: number; readonly message: string | undefined } | undefined,
): string {
  const parts = [
    counted(standing.resting, "is cooling down", "are cooling down"),
    counted(standing.disabled, "is disabled", "are disabled"),
    counted(standing.unresolved, "is unresolved", "are unresolved"),
    counted(standing.tried, "was tried", "were tried"),
  ].filter((part) => part !== "");
  const keys =
    standing.total === 0
      ? "no key is configured"
      : `of ${standing.total} ${standing.total === 1 ? "key" : "keys"} ${parts.join(", ")}`;
  const said =
    last === undefined
      ? ""
      : ` The provider's last answer was ${last.status}${last.message === undefined ? "" : `: ${last.message}`}`;
  return `No key of the provider "${provider}" can serve this request: ${keys}.${ended(said)}`;
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}

function ended(sentence: string): string {
  return sentence === "" || /[.!?。]$/.test(sentence) ? sentence : `${sentence}.`;
}
