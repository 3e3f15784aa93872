import { randomUUID } from "node:crypto";
import { KeywheelError } from "@keywheel/pool";
import { sql, type Transaction } from "kysely";
import type { SharedDatabase } from "./engine.ts";
import { setMetaOnce } from "./meta-rows.ts";
import type { Database } from "./schema.ts";

const rowName = "config_version";
const idName = "database_id";

/** The change was planned on what is no longer so. Seen outside only if it happens again and again. */
class Outdated extends KeywheelError {
  constructor() {
    super("conflict", "Another gateway has changed the configuration meanwhile", { hint: "Try again." });
  }
}

/** What was loaded lies somewhere else, or nowhere: what is found here must not take its place, nor be written to. */
class OtherDatabase extends KeywheelError {
  constructor(name: string) {
    super("store_unavailable", `${name} is not the database that this gateway has loaded: it was emptied or replaced`, {
      hint: "Put it back from a backup. Or keep what this gateway still serves (keywheel export), restart it, and import that.",
    });
  }
}

/**
 * Which count of the configuration this process has loaded, in a database that others change as well, and which database
 * that was: the name of a server may come to stand for an empty one.
 *
 * The counter's row is taken first in each transaction that changes the configuration and held until its end: so they come
 * one after the other over all gateways. What is loaded is of one instant without it: a thousand gateways that load after a
 * change must not wait for one another.
 *
 * Each method answers what is to be called once the transaction is durable.
 */
export class ConfigurationVersion {
  readonly #shared: Pick<SharedDatabase, "announce">;
  readonly #databaseName: string;
  #loaded = 0;
  #loads = 0;
  #databaseId: string | undefined;

  /** @param databaseName for messages */
  constructor(shared: Pick<SharedDatabase, "announce">, databaseName: string) {
    this.#shared = shared;
    this.#databaseName = databaseName;
  }

  /** To be called in each transaction that writes, before its end. @throws KeywheelError store_unavailable */
  async verify(trx: Transaction<Database>): Promise<void> {
    if (this.#databaseId === undefined) return;
    const row = await trx.selectFrom("meta").select("value").where("name", "=", idName).executeTakeFirst();
    if (row?.value !== this.#databaseId) throw new OtherDatabase(this.#databaseName);
  }

  /** How often everything was loaded. */
  get loads(): number {
    return this.#loads;
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
    return () => {
      this.#loaded = version;
      this.#loads += 1;
    };
  }

  /** For who makes the tables. */
  async hold(trx: Transaction<Database>): Promise<() => void> {
    const version = await this.#lock(trx);
    const id = await setMetaOnce(trx, idName, randomUUID());
    return () => {
      this.#loaded = version;
      this.#databaseId = id;
    };
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
    await setMetaOnce(trx, rowName, "0");
    const { rows } = await sql<{ value: string }>`
      select value from meta where name = ${rowName} for update`.execute(trx);
    // Its count says nothing about what was loaded from the other one.
    await this.verify(trx);
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
