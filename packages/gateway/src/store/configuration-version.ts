import { KeywheelError } from "@keywheel/pool";
import { sql, type Transaction } from "kysely";
import type { SharedDatabase } from "./engine.ts";
import type { Database } from "./schema.ts";

const rowName = "config_version";

/** The change was planned on what is no longer so. Seen outside only if it happens again and again. */
class Outdated extends KeywheelError {
  constructor() {
    super("conflict", "Another gateway has changed the configuration meanwhile", { hint: "Try again." });
  }
}

/**
 * Which count of the configuration this process has loaded, in a database that others change as well.
 *
 * The counter's row is taken first in each transaction that changes the configuration and held until its end: so they come
 * one after the other over all gateways. What is loaded is of one instant without it: a thousand gateways that load after a
 * change must not wait for one another.
 *
 * Each method answers what is to be called once the transaction is durable.
 */
export class ConfigurationVersion {
  readonly #shared: Pick<SharedDatabase, "announce">;
  #loaded = 0;

  constructor(shared: Pick<SharedDatabase, "announce">) {
    this.#shared = shared;
  }

  isOutdated(error: unknown): boolean {
    return error instanceof Outdated;
  }

  /** Whether others have changed anything since it was loaded here. */
  async hasMoved(trx: Transaction<Database>): Promise<boolean> {
    const row = await trx.selectFrom("meta").select("value").where("name", "=", rowName).executeTakeFirst();
    return Number(row?.value ?? 0) !== this.#loaded;
  }

  /** As if nothing had been loaded. */
  forget(): void {
    this.#loaded = -1;
  }

  /** For who loads everything; the first statement of its transaction. */
  async see(trx: Transaction<Database>): Promise<() => void> {
    await sql`set transaction isolation level repeatable read`.execute(trx);
    const row = await trx.selectFrom("meta").select("value").where("name", "=", rowName).executeTakeFirst();
    const version = Number(row?.value ?? 0);
    return () => void (this.#loaded = version);
  }

  /** For who makes the tables. */
  async hold(trx: Transaction<Database>): Promise<() => void> {
    const version = await this.#lock(trx);
    return () => void (this.#loaded = version);
  }

  /** For a change that was planned on what was loaded. @throws Outdated */
  async claim(trx: Transaction<Database>): Promise<() => void> {
    const version = await this.#lock(trx);
    if (version !== this.#loaded) throw new Outdated();
    return await this.#count(trx, version);
  }

  /** For a change that counts whatever was loaded, and that this process has made in memory already. */
  async push(trx: Transaction<Database>): Promise<() => void> {
    return await this.#count(trx, await this.#lock(trx));
  }

  async #lock(trx: Transaction<Database>): Promise<number> {
    await trx
      .insertInto("meta")
      .values({ name: rowName, value: "0" })
      .onConflict((conflict) => conflict.column("name").doNothing())
      .execute();
    const { rows } = await sql<{ value: string }>`
      select value from meta where name = ${rowName} for update`.execute(trx);
    return Number(rows[0]?.value);
  }

  async #count(trx: Transaction<Database>, version: number): Promise<() => void> {
    await trx
      .updateTable("meta")
      .set({ value: String(version + 1) })
      .where("name", "=", rowName)
      .execute();
    await this.#shared.announce(trx);
    return () => {
      // Otherwise changes of others lie in between, which are still to be loaded.
      if (this.#loaded === version) this.#loaded = version + 1;
    };
  }
}
