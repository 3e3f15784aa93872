import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MasterKey } from "./master-key.ts";
import { type Place, Vault } from "./vault.ts";

const masterKey = new MasterKey(randomBytes(32));
const vault = new Vault(masterKey);
const place: Place = { table: "keys", id: "key_1", column: "secret", version: 1 };

describe("a vault", () => {
  it("opens what it sealed, also with another vault of the same master key", () => {
    const sealed = vault.seal("sk-비밀-0123456789", place);

    expect(new Vault(masterKey).open(sealed, place)).toBe("sk-비밀-0123456789");
  });

  it("never seals a value twice to the same text", () => {
    expect(vault.seal("sk-0123456789", place)).not.toBe(vault.seal("sk-0123456789", place));
  });

  it.each([
    ["row", { id: "key_2" }],
    ["table", { table: "providers" }],
    ["column", { column: "other" }],
    ["version", { version: 2 }],
  ])("does not open a value that was moved to another %s", (_, elsewhere) => {
    const sealed = vault.seal("sk-0123456789", place);

    expect(vault.open(sealed, { ...place, ...elsewhere })).toBeUndefined();
  });

  it("tells places apart whose names run together", () => {
    const sealed = vault.seal("sk-0123456789", { ...place, table: "a", id: "b,c" });

    expect(vault.open(sealed, { ...place, table: "a,b", id: "c" })).toBeUndefined();
  });

  it("does not open what another master key sealed", () => {
    const sealed = new Vault(new MasterKey(randomBytes(32))).seal("sk-0123456789", place);

    expect(vault.open(sealed, place)).toBeUndefined();
  });

  it("does not open a value of which any byte was changed", () => {
    const sealed = vault.seal("sk-0123456789", place);
    const bytes = Buffer.from(sealed.slice(3), "base64");

    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      expect(vault.open(`v1.${changed.toString("base64")}`, place)).toBeUndefined();
    }
  });

  it.each(["", "v1.", "v1.AAAA", "v2.AAAA", "sk-0123456789"])("does not open %j", (text) => {
    expect(vault.open(text, place)).toBeUndefined();
  });

  it("finds equal values by a fingerprint that says nothing without the master key", () => {
    const other = new Vault(new MasterKey(randomBytes(32)));

    expect(vault.fingerprint("sk-1")).toBe(vault.fingerprint("sk-1"));
    expect(vault.fingerprint("sk-1")).not.toBe(vault.fingerprint("sk-2"));
    expect(vault.fingerprint("sk-1")).not.toBe(other.fingerprint("sk-1"));
  });
});
