import { hkdfSync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KeywheelError } from "@keywheel/pool";
import { codeOf, createPrivateText, reasonOf, tightenFile } from "./private-files.ts";

export const masterKeyFile = "master.key";
const keyBytes = 32;

/** The secret from which all others of a data directory come. It is never printed, and no part of it is stored. */
export class MasterKey {
  readonly #bytes: Buffer;

  /** @param bytes 32 of them */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** A key of 32 bytes for one purpose; keys of different purposes say nothing about each other. */
  derive(purpose: string): Buffer {
    // RFC 5869. No salt: the master key is random already.
    return Buffer.from(hkdfSync("sha256", this.#bytes, "", `keywheel ${purpose} v1`, keyBytes));
  }
}

export interface MasterKeySource {
  readonly dataDir: string;
  /** What KEYWHEEL_MASTER_KEY holds; it wins over the file. */
  readonly masterKey?: string | undefined;
  /** The variable that holds it, for messages; default KEYWHEEL_MASTER_KEY. */
  readonly name?: string;
}

/**
 * The master key of a data directory; made and kept there at the first start, where none is given.
 *
 * @throws KeywheelError validation_failed for a value that is no key, store_unavailable for a file that is none
 */
export function loadMasterKey(source: MasterKeySource): MasterKey {
  const known = readMasterKey(source);
  if (known !== undefined) return known;
  createPrivateText(join(source.dataDir, masterKeyFile), makeMasterKeyText());
  const made = readMasterKey(source);
  if (made === undefined) throw unusable(join(source.dataDir, masterKeyFile), "it was removed while it was being made");
  return made;
}

/** The master key as it stands, or undefined if there is none yet: for whoever must not make one. */
export function readMasterKey({ dataDir, masterKey, name }: MasterKeySource): MasterKey | undefined {
  if (masterKey !== undefined) return new MasterKey(parseGiven(masterKey, name));
  return readMasterKeyFile(join(dataDir, masterKeyFile));
}

/** The contents of a file that holds a new master key. */
export function makeMasterKeyText(): string {
  return `${randomBytes(keyBytes).toString("base64")}\n`;
}

/** @throws KeywheelError store_unavailable for a file that holds none */
export function readMasterKeyFile(path: string): MasterKey | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  tightenFile(path);
  const bytes = decode(text);
  if (bytes?.length !== keyBytes) throw unusable(path, "it does not hold 32 bytes in base64");
  return new MasterKey(bytes);
}

/** What the command line on the same machine shows to the gateway: who can read the master key may do everything. */
export function deriveOperatorToken(masterKey: MasterKey): string {
  return `kwl_${masterKey.derive("operator token").toString("base64url")}`;
}

function parseGiven(text: string, name = "KEYWHEEL_MASTER_KEY"): Buffer {
  const bytes = decode(text);
  if (bytes?.length === keyBytes) return bytes;
  const got = bytes === undefined ? "text that is not base64" : `${bytes.length} bytes`;
  const message = `Expected \`${name}\` to be 32 bytes in base64, got ${got}`;
  throw new KeywheelError("validation_failed", message, {
    hint: "Make one with `openssl rand -base64 32`, and keep it: what it encrypts cannot be read without it.",
    details: [{ path: name, message }],
  });
}

/** Both alphabets of RFC 4648, padded or not; Node's own decoder would skip whatever is in neither. */
function decode(text: string): Buffer | undefined {
  const trimmed = text.trim();
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(trimmed) ? Buffer.from(trimmed, "base64") : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw unusable(path, reasonOf(error), error);
  }
}

function unusable(path: string, why: string, cause?: unknown): KeywheelError {
  return new KeywheelError("store_unavailable", `The master key in ${path} cannot be used: ${why}`, {
    hint: "Put the file back from a backup, or set KEYWHEEL_MASTER_KEY. A new key would not open what is stored.",
    cause,
  });
}
