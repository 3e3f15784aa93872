import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import type { MasterKey } from "./master-key.ts";

/** Where a sealed value lies. It opens nowhere else. */
export interface Place {
  readonly table: string;
  readonly id: string;
  readonly column: string;
  readonly version: number;
}

const nonceBytes = 12;
const tagBytes = 16;
const format = "v1.";

/** Seals what must not lie in the database in the clear, under keys derived from the master key. */
export class Vault {
  // Key objects: from a bare buffer Node makes one at every call, which takes longer than the work itself.
  readonly #sealingKey: KeyObject;
  readonly #fingerprintKey: KeyObject;

  constructor(masterKey: MasterKey) {
    this.#sealingKey = createSecretKey(masterKey.derive("sealing"));
    this.#fingerprintKey = createSecretKey(masterKey.derive("fingerprint"));
  }

  /** AES-256-GCM with a nonce of its own, bound to its place. */
  seal(text: string, place: Place): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#sealingKey, nonce);
    cipher.setAAD(additionalData(place));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return format + sealed.toString("base64");
  }

  /** @returns undefined if it was sealed with another master key, for another place, or is damaged */
  open(sealed: string, place: Place): string | undefined {
    if (!sealed.startsWith(format)) return undefined;
    const bytes = Buffer.from(sealed.slice(format.length), "base64");
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv("aes-256-gcm", this.#sealingKey, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(additionalData(place));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
    try {
      return Buffer.concat([text, decipher.final()]).toString("utf8");
    } catch {
      // The tag does not match: that is the answer, there is nothing more to know.
      return undefined;
    }
  }

  /** Equal for equal values, and no help to anybody without the master key. */
  fingerprint(text: string): string {
    return createHmac("sha256", this.#fingerprintKey).update(text, "utf8").digest("base64");
  }
}

function additionalData({ table, id, column, version }: Place): Buffer {
  return Buffer.from(JSON.stringify([table, id, column, version]), "utf8");
}
