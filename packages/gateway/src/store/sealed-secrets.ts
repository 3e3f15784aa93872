import { KeywheelError, Secret } from "@keywheel/pool";
import type { Kysely, Transaction } from "kysely";
import type { Database, OptionalSecretColumns, SecretColumns } from "./schema.ts";
import type { KeySecret } from "./store.ts";
import type { Place, Vault } from "./vault.ts";

const canaryName = "master_key_canary";
const canaryPlace: Place = { table: "meta", id: canaryName, column: "value", version: 0 };
const canaryText = "keywheel";

export const noSecret: OptionalSecretColumns = {
  secret_kind: null,
  secret_sealed: null,
  secret_reference: null,
  secret_masked: null,
};

/** How the values of keys lie in their rows. */
export class SealedSecrets {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** `place.column` is always `secret`. */
  toColumns(secret: KeySecret, place: Omit<Place, "column">): SecretColumns {
    switch (secret.kind) {
      case "literal":
        return {
          secret_kind: "literal",
          secret_sealed: this.#vault.seal(secret.value.reveal(), { ...place, column: "secret" }),
          secret_reference: null,
          secret_masked: secret.value.masked,
        };
      case "reference":
        return { secret_kind: "reference", secret_sealed: null, secret_reference: secret.name, secret_masked: null };
      case "undecryptable":
        throw new Error("a value that could not be opened cannot be stored anew");
    }
  }

  fromColumns(columns: SecretColumns, place: Omit<Place, "column">): KeySecret {
    if (columns.secret_kind === "reference") return { kind: "reference", name: columns.secret_reference ?? "" };
    const value = this.#vault.open(columns.secret_sealed ?? "", { ...place, column: "secret" });
    if (value === undefined) return { kind: "undecryptable", masked: columns.secret_masked ?? "…" };
    return { kind: "literal", value: new Secret(value) };
  }

  /** A text that holds secrets and is no key's value. */
  seal(text: string, place: Place): string {
    return this.#vault.seal(text, place);
  }

  /** @returns undefined if it was sealed with another master key, for another place, or is damaged */
  open(sealed: string, place: Place): string | undefined {
    return this.#vault.open(sealed, place);
  }

  /** Equal for equal values and for equal references. @returns undefined for a value that nobody knows */
  fingerprint(secret: KeySecret): string | undefined {
    switch (secret.kind) {
      case "literal":
        return this.#vault.fingerprint(secret.value.reveal());
      case "reference":
        // No secret, and found under any master key. No fingerprint of a value begins like this.
        return `$${secret.name}`;
      case "undecryptable":
        return undefined;
    }
  }

  /**
   * Whether the master key is the one that sealed what is stored.
   *
   * Where nothing is sealed, any key is: the canary is sealed anew with this one. So a lost master key is got over by
   * deleting what it sealed.
   *
   * @param claims false: a canary of another key stays, also where nothing is sealed
   */
  async checkCanary(trx: Transaction<Database>, { claims }: { readonly claims: boolean }): Promise<boolean> {
    const stored = await readCanary(trx);
    if (stored !== undefined && this.opensCanary(stored)) return true;
    if (stored !== undefined && (!claims || (await holdsSealed(trx)))) return false;
    await this.writeCanary(trx);
    return true;
  }

  opensCanary(stored: string): boolean {
    return this.#vault.open(stored, canaryPlace) === canaryText;
  }

  /** Says that everything stored is sealed with this master key. */
  async writeCanary(trx: Transaction<Database>): Promise<void> {
    const value = this.#vault.seal(canaryText, canaryPlace);
    await trx
      .insertInto("meta")
      .values({ name: canaryName, value })
      .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
      .execute();
  }
}

/** What tells which master key the database belongs to; undefined in an empty one. */
export async function readCanary(db: Kysely<Database>): Promise<string | undefined> {
  const row = await db.selectFrom("meta").select("value").where("name", "=", canaryName).executeTakeFirst();
  return row?.value;
}

/** Why nothing is sealed at the moment, and how to mend it. */
export function wrongMasterKey(): KeywheelError {
  return new KeywheelError("store_unavailable", "The stored keys were encrypted with another master key", {
    hint:
      "Restore the right one (`master.key` in the data directory, or KEYWHEEL_MASTER_KEY) and restart. If it is lost, " +
      "delete the keys that are shown as unreadable, then add them again.",
  });
}

/** Why nothing can be sealed anew: one value would be lost. */
export function unreadableValue(whose: string): KeywheelError {
  return new KeywheelError("store_unavailable", `The stored value of ${whose} cannot be opened: it is damaged`, {
    hint: "Give it a new value, or remove it. Nothing was changed.",
  });
}

async function holdsSealed(db: Kysely<Database>): Promise<boolean> {
  for (const table of ["keys", "providers", "webhooks"] as const) {
    const row = await db
      .selectFrom(table)
      .select("id")
      .where("secret_sealed", "is not", null)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}
