import { type Clock, isKeywheelError } from "@keywheel/pool";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { seqOf } from "../requests/request-seq.ts";
import type {
  ActivityBatch,
  AffinityQuery,
  AffinitySum,
  RequestFilter,
  Store,
  UsageQuery,
  UsageSum,
} from "../store/store.ts";
import { addAffinity, type Affinity, AffinityBook, affinityOf, groupAffinity } from "./affinity-book.ts";
import { type LoggedRequest, RequestLog, type RequestPage } from "./request-log.ts";
import { hourMs, UsageBook } from "./usage-book.ts";
import { groupUsage } from "./usage-groups.ts";

export interface ActivityDeps {
  readonly store: Pick<
    Store,
    | "saveActivity"
    | "listRequests"
    | "findRequest"
    | "pruneRequests"
    | "readUsage"
    | "readAffinity"
    | "pruneUsage"
    | "claim"
  >;
  readonly clock: Pick<Clock, "now">;
  /** `lastSeq` of what the store has loaded. */
  readonly lastSeq: number;
  /** The same of `lane`. */
  readonly lane?: number;
  readonly labelOf: (providerId: string, keyId: string) => string;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  /** Told when it begins (with the error) and ends (undefined) that activity cannot be written. */
  readonly onTrouble: (error: unknown) => void;
}

export interface SessionSteps {
  readonly steps: readonly (LoggedRequest & { readonly affinity: Affinity })[];
  /** Whether there are no older ones. */
  readonly isWhole: boolean;
}

const requestsKept = 1_000_000;
const requestsKeptMs = 7 * 86_400_000;
const hoursKeptMs = 400 * 86_400_000;
const minutesKeptMs = 2 * 86_400_000;
/** They may be many: a pool of a thousand keys makes as many each minute. */
const detailsKeptMs = 3 * hourMs;

const mostRefusals = 5;
/** Less than the minute after which it is asked for: clocks differ a little. */
const pruneEveryMs = 50_000;

/** In one transaction, beside a block of requests, some ms: what a refusal has to wait for before its retry must be short. */
const sumsAtOnce = 1_000;

/**
 * What went through the gateway: each request explained, and sums of what was used.
 *
 * Both are taken up in memory as requests end and written a little later, together; `kill -9` takes the last second.
 */
export class Activity {
  readonly #deps: ActivityDeps;
  readonly #log: RequestLog;
  readonly #usage: UsageBook;
  readonly #affinity = new AffinityBook();
  #running: Promise<boolean> | undefined;
  #isInTrouble = false;
  /** How often in a row the same was refused. */
  #refusals = 0;

  constructor(deps: ActivityDeps) {
    this.#deps = deps;
    this.#log = new RequestLog(deps);
    this.#usage = new UsageBook(deps);
  }

  /** Takes up a request that has just ended. Runs on the request path; never throws. */
  record(record: RequestRecord): LoggedRequest {
    const logged = this.#log.add(record);
    this.#usage.add(logged);
    this.#affinity.add(logged);
    return logged;
  }

  /** Newest first. @throws KeywheelError store_unavailable */
  requests(filter: RequestFilter): Promise<RequestPage> {
    return this.#log.list(filter);
  }

  /** @throws KeywheelError store_unavailable */
  request(id: string): Promise<LoggedRequest | undefined> {
    return this.#log.find(id);
  }

  /** Sums up to this moment, in the order of the groups. @throws KeywheelError store_unavailable */
  async usage(query: UsageQuery): Promise<readonly UsageSum[]> {
    await this.flush();
    const stored = await this.#deps.store.readUsage(query);
    // Nothing, unless the database could not be written just now.
    const pending = groupUsage(this.#usage.pending(), query);
    if (pending.length === 0) return stored;
    const { span, by } = query;
    return groupUsage([...stored, ...pending], { span, by, from: 0, to: Infinity });
  }

  /** Sums up to this moment. @throws KeywheelError store_unavailable */
  async affinity(query: AffinityQuery): Promise<readonly AffinitySum[]> {
    await this.flush();
    const stored = await this.#deps.store.readAffinity(query);
    const pending = groupAffinity(this.#affinity.pending(), query);
    return pending.length === 0 ? stored : addAffinity([...stored, ...pending]);
  }

  /** Sums of this process since it began, whether they could be written or not. */
  affinityTotals(): readonly AffinitySum[] {
    return this.#affinity.totals();
  }

  /** The newest requests of a session that asked a key, newest first. @throws KeywheelError store_unavailable */
  async session(filter: RequestFilter & { readonly sessionId: string }): Promise<SessionSteps> {
    const { requests, next } = await this.#log.list(filter);
    const steps = requests.flatMap((request) => {
      const affinity = affinityOf(request.record);
      return affinity === undefined ? [] : [{ ...request, affinity }];
    });
    return { steps, isWhole: next === undefined };
  }

  /**
   * Writes everything that there is when it begins. A second call while one is under way waits for that one and goes over what
   * came since.
   *
   * @returns whether all of that is durable
   */
  async flush(): Promise<boolean> {
    while (this.#running !== undefined) await this.#running;
    this.#running = this.#writeAll();
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  /** Lets go of what is older than it is kept, or too much; of gateways on one database, one does it for all. */
  async prune(): Promise<void> {
    if (!(await this.#deps.store.claim("old activity", pruneEveryMs))) return;
    const now = this.#deps.clock.now();
    await this.#deps.store.pruneRequests({ keep: requestsKept, beforeSeq: seqOf(now - requestsKeptMs) });
    const hours = now - hoursKeptMs;
    const [minutes, details] = [now - minutesKeptMs, now - detailsKeptMs];
    await this.#deps.store.pruneUsage({ hours: hours - (hours % hourMs), minutes, details });
  }

  async #writeAll(): Promise<boolean> {
    // What comes meanwhile waits for the next time: under load it would never end, and write a few at a time.
    let left = this.#log.waiting;
    for (;;) {
      const block = this.#log.peek();
      const requests = block === undefined ? [] : [block];
      const usage = this.#usage.takeSums(sumsAtOnce);
      const totals = this.#usage.takeTotals(sumsAtOnce);
      const affinity = this.#affinity.take();
      if (requests.length + usage.length + totals.length + affinity.length === 0) {
        this.#tell(undefined);
        return true;
      }
      const fate = await this.#save({ requests, usage, totals, affinity, isLate: this.#isInTrouble });
      if (fate === "kept") return false;
      this.#refusals = 0;
      if (block !== undefined && fate === "written") this.#log.written(block);
      if (block !== undefined && fate === "refused") this.#log.refused(block);
      left -= block?.count ?? 0;
      if (left <= 0 && usage.length < sumsAtOnce && totals.length < sumsAtOnce) {
        this.#tell(undefined);
        return true;
      }
    }
  }

  /** @returns `kept`: it is to be tried again */
  async #save(
    batch: ActivityBatch & { readonly affinity: readonly AffinitySum[] },
  ): Promise<"written" | "kept" | "refused"> {
    try {
      await this.#deps.store.saveActivity(batch);
      return "written";
    } catch (error) {
      this.#tell(error);
      if (!this.#isWorthKeeping(error)) return "refused";
      this.#usage.giveBack(batch.usage, batch.totals);
      this.#affinity.giveBack(batch.affinity);
      return "kept";
    }
  }

  /** What the database takes for wrong, and not for untimely, is let go of in the end: it must not hold up all that follows. */
  #isWorthKeeping(error: unknown): boolean {
    if (isKeywheelError(error) && error.code === "store_unavailable") return true;
    return ++this.#refusals < mostRefusals;
  }

  #tell(error: unknown): void {
    if (this.#isInTrouble === (error !== undefined)) return;
    this.#isInTrouble = error !== undefined;
    this.#deps.onTrouble(error);
  }
}
