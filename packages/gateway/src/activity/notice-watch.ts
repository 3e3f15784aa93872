import type { Clock, PoolEvent } from "@keywheel/pool";
import type { CatalogEvent } from "../catalog/events.ts";
import type { OverloadReason } from "../telemetry/load-watch.ts";
import type { RequestRecord } from "../data-plane/request-record.ts";
import type { StoreTrouble } from "../store/store.ts";
import type { NoticeAction, NoticeBook, NoticeCode } from "./notice-book.ts";

/** A provider as notices are about it. */
export interface WatchedProvider {
  readonly id: string;
  readonly name: string;
  readonly baseUrl: string;
  /** Why keys of it have no value that could be sent, one entry a key. */
  readonly unresolved: readonly { readonly why: string; readonly variable: string | undefined }[];
  /** Whether a key could take the next turn. */
  canServe(): Promise<boolean>;
  /** Keys that are disabled because they were refused. */
  readonly refused: number;
  /** Whose all of the keys are that may serve, if there are several and they share their limits. */
  readonly owner: { readonly name: string; readonly keys: number; readonly isGroup: boolean } | undefined;
  /** Whether any key was ever accepted. */
  readonly wasAccepted: boolean;
}

export interface NoticeWatchDeps {
  readonly book: NoticeBook;
  readonly clock: Pick<Clock, "now">;
  readonly providers: () => Iterable<WatchedProvider>;
  readonly provider: (id: string) => WatchedProvider | undefined;
  /** Why nothing can be written at the moment, or what is damaged. */
  readonly storeTrouble: () => StoreTrouble | undefined;
  /** Why this gateway does not share its state with others although it should. */
  readonly sharedStateTrouble: () => string | undefined;
  readonly masterKeyMatches: () => boolean;
  /** Why requests are refused for more than the machine can carry. */
  readonly overload: () => OverloadReason | undefined;
  /** Why the file of configuration is not what is served. */
  readonly configTrouble: () => { readonly file: string; readonly problem: string } | undefined;
}

/** What is known of a provider from what went by. */
interface Course {
  baseUrl: string;
  /** Whether a key was accepted at this base URL. */
  wasAccepted: boolean;
  /** The last burst of rate limits: when it began, and whom it met. */
  limitedSince: number;
  readonly limited: Set<string>;
}

/** Limits within so long of each other are of one cause. @see field case 33 */
const togetherMs = 1_000;
/** Said for so long after it was last seen, if nothing shows that it is over. */
const passingMs = 300_000;

/** What a success of a key disproves. */
const endedBySuccess = [
  "pool_exhausted",
  "no_usable_key",
  "all_keys_refused",
  "keys_limited_together",
  "edge_block",
  "region_refused",
  "not_an_api",
] as const satisfies readonly NoticeCode[];
const passing = endedBySuccess.filter((code) => code !== "no_usable_key" && code !== "all_keys_refused");

/** What is over as soon as there is a key that can serve. */
const spentPool = ["pool_exhausted", "no_usable_key"] as const satisfies readonly NoticeCode[];

const refusals: ReadonlySet<string> = new Set(["key_refused", "account_suspended"]);

/** Looks at what goes by for what a person should be told. Its methods run on the request path: quick, and they never throw. */
export class NoticeWatch {
  readonly #deps: NoticeWatchDeps;
  readonly #courses = new Map<string, Course>();
  /** Providers of which something is said that a success would end. */
  readonly #troubled = new Set<string>();

  constructor(deps: NoticeWatchDeps) {
    this.#deps = deps;
    for (const provider of deps.providers()) this.#courseOf(provider);
    this.check();
  }

  /** A request has ended. */
  request(record: RequestRecord): void {
    const { providerId, keyId, status, error } = record;
    if (providerId === undefined) return;
    if (keyId !== undefined && error === undefined && status >= 200 && status < 400) return this.#accepted(providerId);
    if (error !== "pool_exhausted" && error !== "no_usable_key") return;
    const provider = this.#deps.provider(providerId);
    if (provider === undefined) return;
    if (error === "pool_exhausted") this.#exhausted(provider, record);
    else this.#unusable(provider, record);
  }

  poolEvent(event: PoolEvent): void {
    if (event.type === "notice") this.#told(event);
    if (event.type !== "key-cooled" || event.reason !== "rate_limited") return;
    // It has met no limit itself.
    if (event.sharedFrom !== undefined) return;
    const provider = this.#courses.get(event.poolId);
    if (provider === undefined) return;
    if (event.at - provider.limitedSince > togetherMs) {
      provider.limited.clear();
      provider.limitedSince = event.at;
    }
    provider.limited.add(event.keyId);
  }

  catalogEvent(event: CatalogEvent): void {
    if (event.type === "provider-deleted") {
      this.#courses.delete(event.providerId);
      this.#troubled.delete(event.providerId);
      this.#deps.book.forget(event.providerId);
      return;
    }
    if (event.type !== "provider-created" && event.type !== "provider-changed") return;
    const provider = this.#deps.provider(event.providerId);
    if (provider === undefined) return;
    const course = this.#courseOf(provider);
    if (course.baseUrl !== provider.baseUrl) this.#moved(provider, course);
  }

  /** Looks at what no event tells of; once a second or so. */
  check(): void {
    const { book, clock, providers, storeTrouble, masterKeyMatches } = this.#deps;
    this.#checkStore(storeTrouble());
    if (masterKeyMatches()) book.resolve("master_key_wrong");
    else if (!book.holds("master_key_wrong")) {
      const message = "Stored keys were encrypted with another master key and cannot be read.";
      book.raise({
        code: "master_key_wrong",
        message,
        hint: "Start with that master key, or delete the keys and add them again.",
      });
    }
    this.#checkSharing();
    this.#checkLoad();
    this.#checkConfig();
    for (const provider of providers()) this.#checkProvider(provider);
    book.resolveOlderThan(passing, clock.now() - passingMs);
  }

  #checkSharing(): void {
    const { book, sharedStateTrouble } = this.#deps;
    const trouble = sharedStateTrouble();
    if (trouble === undefined) return book.resolve("shared_state_unavailable");
    if (book.holds("shared_state_unavailable")) return;
    const message = `Redis is away, and this gateway goes on alone: ${trouble}`;
    const hint =
      "Traffic goes on with what was known. What happens meanwhile is told to the others when Redis is back.";
    book.raise({ code: "shared_state_unavailable", message, hint, facts: { said: trouble } });
  }

  #checkLoad(): void {
    const { book, overload } = this.#deps;
    const reason = overload();
    if (reason === undefined) return book.resolve("overloaded");
    if (!book.holds("overloaded")) book.raise({ code: "overloaded", ...overloadWords[reason], facts: { reason } });
  }

  #checkConfig(): void {
    const { book, configTrouble } = this.#deps;
    const trouble = configTrouble();
    if (trouble === undefined) return book.resolve("config_file_broken");
    const { file, problem } = trouble;
    const message = `The configuration file ${file} cannot be taken. ${problem}`;
    if (book.messageOf("config_file_broken") === message) return;
    const hint = `What was taken up before goes on. Correct the file: that is noticed by itself. \`keywheel config check ${file}\` names every mistake.`;
    book.raise({ code: "config_file_broken", message, hint, facts: { file, said: problem } });
  }

  #checkStore(trouble: StoreTrouble | undefined): void {
    const { book } = this.#deps;
    if (trouble?.isDamage !== true) book.resolve("store_damaged");
    if (trouble === undefined || trouble.isDamage) book.resolve("store_unavailable");
    if (trouble === undefined) return;
    const code = trouble.isDamage ? "store_damaged" : "store_unavailable";
    if (book.holds(code)) return;
    const facts = { said: trouble.message };
    if (trouble.isDamage) {
      const hint = `Traffic goes on with what is in memory. ${trouble.hint}`;
      book.raise({ code, message: trouble.message, hint, facts });
      return;
    }
    const hint = "Traffic goes on. Cooldowns and refusals are kept in memory and written as soon as it can be.";
    book.raise({ code, message: `The database cannot be written: ${trouble.message}`, hint, facts });
  }

  #checkProvider(provider: WatchedProvider): void {
    const { id: providerId, name, unresolved, refused } = provider;
    const { book } = this.#deps;
    if (spentPool.some((code) => book.holds(code, providerId))) void this.#lookForKeys(provider);
    if (refused === 0) {
      book.resolve("base_url_changed", providerId);
      book.resolve("all_keys_refused", providerId);
    }
    this.#checkOwner(provider);
    const [first] = unresolved;
    if (first === undefined) return book.resolve("keys_unresolved", providerId);
    const { why, variable } = first;
    const more = unresolved.length === 1 ? "One key" : `${unresolved.length} keys`;
    const message = `${more} of ${name} cannot be used. ${why}`;
    if (book.messageOf("keys_unresolved", providerId) === message) return;
    const remedy = variable === undefined ? "Put the key where it is looked for" : "Set the variable";
    const hint = `${remedy}; it is noticed by itself. Or enter the key itself.`;
    const facts = { keys: unresolved.length, ...(variable === undefined ? {} : { variable }) };
    book.raise({ code: "keys_unresolved", providerId, message, hint, facts });
  }

  /** A pool of one owner's keys: whoever set it up for more requests than one key may send should know. */
  #checkOwner({ id: providerId, name, owner }: WatchedProvider): void {
    const { book } = this.#deps;
    if (owner === undefined) return book.resolve("one_owner", providerId);
    const whose = owner.isGroup ? `are of the group ${owner.name}` : `seem to be of one organization, ${owner.name}`;
    const message = `All ${owner.keys} keys of ${name} ${whose}.`;
    if (book.messageOf("one_owner", providerId) === message) return;
    const hint =
      "They share their limits, so that more of them serve no more requests. Add keys of another owner; or dismiss this if " +
      "they are there for when one is refused.";
    book.raise({ code: "one_owner", providerId, message, hint, facts: { keys: owner.keys, owner: owner.name } });
  }

  /** A key that was enabled, added, cleared or has come back: nobody has to ask for something first. */
  async #lookForKeys(provider: WatchedProvider): Promise<void> {
    if (!(await provider.canServe())) return;
    for (const code of spentPool) this.#deps.book.resolve(code, provider.id);
  }

  #accepted(providerId: string): void {
    const course = this.#courses.get(providerId);
    if (course !== undefined) course.wasAccepted = true;
    if (!this.#troubled.delete(providerId)) return;
    for (const code of endedBySuccess) this.#deps.book.resolve(code, providerId);
  }

  #exhausted(provider: WatchedProvider, { standing }: RequestRecord): void {
    const { id: providerId, name } = provider;
    this.#troubled.add(providerId);
    const { total = 0, resting = 0 } = standing ?? {};
    this.#deps.book.raise({
      code: "pool_exhausted",
      providerId,
      message: `No key of ${name} could serve: ${resting} of ${total} are cooling down.`,
      hint: "They come back by themselves. If it happens often, add keys or send less.",
      facts: { resting, total },
    });
    const { limited, limitedSince } = this.#courseOf(provider);
    const isNow = this.#deps.clock.now() - limitedSince <= 2 * togetherMs;
    if (!isNow || limited.size < 2 || limited.size < resting) return;
    this.#deps.book.raise({
      code: "keys_limited_together",
      providerId,
      message: `All ${limited.size} keys of ${name} were rate limited within a second.`,
      hint: "The limit may be that of this machine's address or of the account they share: more keys would not help.",
      facts: { keys: limited.size },
    });
  }

  #unusable(provider: WatchedProvider, { attempts }: RequestRecord): void {
    const { id: providerId, name, baseUrl, refused } = provider;
    const { book } = this.#deps;
    this.#troubled.add(providerId);
    const isRefused = attempts.length > 0 && attempts.every(({ outcome }) => refusals.has(outcome));
    if (isRefused && !this.#courseOf(provider).wasAccepted) {
      book.raise({
        code: "all_keys_refused",
        providerId,
        message: `${hostOf(baseUrl)} has refused every key of ${name}, and never accepted one.`,
        hint: "Check the base URL: it may lead to another provider. Then enable the keys again, all at once.",
        facts: { host: hostOf(baseUrl), keys: refused },
        action: enableAgain(providerId),
      });
    } else if (!book.holds("all_keys_refused", providerId)) {
      const message = `${name} has no key that could be used.`;
      const hint = "Add a key, or enable one that works.";
      const action = refused > 0 ? enableAgain(providerId) : undefined;
      book.raise({ code: "no_usable_key", providerId, message, hint, action });
    }
  }

  #moved(provider: WatchedProvider, course: Course): void {
    const { id: providerId, name, baseUrl, refused } = provider;
    course.baseUrl = baseUrl;
    course.wasAccepted = false;
    this.#troubled.delete(providerId);
    for (const code of endedBySuccess) this.#deps.book.resolve(code, providerId);
    if (refused === 0) return;
    this.#deps.book.raise({
      code: "base_url_changed",
      providerId,
      message: `${name} has another base URL; ${refused === 1 ? "one key is" : `${refused} keys are`} disabled for refusals at the former one.`,
      hint: "Enable them again, all at once, if they are right for the new one.",
      facts: { host: hostOf(provider.baseUrl), keys: refused },
      action: enableAgain(providerId),
    });
  }

  #told({ poolId, code, message }: PoolEvent & { type: "notice" }): void {
    const provider = this.#deps.provider(poolId);
    const words = Object.hasOwn(toldWords, code) ? toldWords[code] : undefined;
    if (provider === undefined || words === undefined) return;
    this.#troubled.add(poolId);
    const said = message === undefined ? "" : ` It said: ${message}`;
    this.#deps.book.raise({
      code: code as NoticeCode,
      providerId: poolId,
      message: `${words.what.replace("{host}", hostOf(provider.baseUrl))}${said}`,
      hint: words.hint,
      facts: { host: hostOf(provider.baseUrl), ...(message === undefined ? {} : { said: message }) },
    });
  }

  #courseOf({ id, baseUrl, wasAccepted }: WatchedProvider): Course {
    const known = this.#courses.get(id);
    if (known !== undefined) return known;
    const fresh = { baseUrl, wasAccepted, limitedSince: 0, limited: new Set<string>() };
    this.#courses.set(id, fresh);
    return fresh;
  }
}

const overloadWords: Readonly<Record<OverloadReason, { readonly message: string; readonly hint: string }>> = {
  open_requests: {
    message: "As many requests are under way as may be: new ones are refused with 503.",
    hint: "Raise `--max-requests` or the limit of open files (`ulimit -n`), or run several gateways.",
  },
  event_loop: {
    message: "More requests come than can be served in time: some are refused with 503.",
    hint: "Give the gateway a faster processor, or run several.",
  },
  memory: {
    message: "Memory runs out: most new requests are refused with 503.",
    hint: "Give the gateway more memory (`--max-memory-mb`), or lower `max_body_bytes` of the providers.",
  },
};

const toldWords: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  edge_block: {
    what: "The network edge of {host} refuses this machine; no key was looked at.",
    hint: "It is about the address or the client, not about keys: try another network or a proxy, or ask the provider.",
  },
  region_refused: {
    what: "{host} does not serve the country that this machine is in.",
    hint: "Run the gateway, or a proxy for it, where the provider serves.",
  },
  not_an_api: {
    what: "{host} answers with a web page where data was asked for.",
    hint: "Check the base URL: it may lead to a web site or lack a part of its path.",
  },
};

function enableAgain(providerId: string): NoticeAction {
  const body = { action: "enable", where: { reason: "authentication_failed" } };
  return { method: "POST", path: `/api/providers/${providerId}/keys/bulk`, body };
}

function hostOf(baseUrl: string): string {
  return new URL(baseUrl).host;
}
