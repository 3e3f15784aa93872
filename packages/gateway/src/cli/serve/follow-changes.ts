import type { Catalog } from "../../catalog/catalog.ts";
import type { AdminAuth } from "../../control-plane/auth.ts";
import type { ChangeFeed } from "../../store/store.ts";
import type { Log } from "../../telemetry/log.ts";

export interface FollowOptions {
  readonly feed: ChangeFeed;
  readonly catalog: Pick<Catalog, "catchUp">;
  readonly auth: Pick<AdminAuth, "catchUp">;
  readonly log: Pick<Log, "warn" | "info">;
  /** How often it is asked for changes that were not announced, ms; default 1000. */
  readonly everyMs?: number;
}

/**
 * Takes up what other gateways on the same database change: when it is announced, and by asking once a second, for what is
 * announced while nobody listens.
 */
export function followChanges(options: FollowOptions): { close(): Promise<void> } {
  const { feed, everyMs = 1000 } = options;
  const follower = new Follower(options);
  const listening = feed.listen(() => follower.look());
  const timer = setInterval(() => follower.look(), everyMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await listening.close();
      await follower.close();
    },
  };
}

class Follower {
  readonly #options: FollowOptions;
  #running: Promise<void> | undefined;
  #isAskedAgain = false;
  #isClosed = false;
  #isInTrouble = false;
  /** Changes load the configuration too; the admin token is not part of that. */
  #loadsFollowed = -1;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Looks now, or once more behind the look that is under way. */
  look(): void {
    if (this.#isClosed) return;
    this.#isAskedAgain = true;
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #work(): Promise<void> {
    while (this.#isAskedAgain && !this.#isClosed) {
      this.#isAskedAgain = false;
      await this.#takeUp();
    }
  }

  async #takeUp(): Promise<void> {
    const { feed, catalog, auth, log } = this.#options;
    try {
      if (await feed.hasNews()) await catalog.catchUp();
      const loads = feed.loads();
      if (loads !== this.#loadsFollowed) await auth.catchUp();
      this.#loadsFollowed = loads;
      if (this.#isInTrouble) log.info({}, "Changes of other gateways are seen again");
      this.#isInTrouble = false;
    } catch (error) {
      // The next look comes within a second.
      if (!this.#isInTrouble) log.warn({ err: error }, "Changes of other gateways cannot be seen; it is tried again");
      this.#isInTrouble = true;
    }
  }
}
