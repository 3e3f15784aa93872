import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { KeywheelError } from "@keywheel/pool";
import type { SealedValues } from "../contract/transfer.ts";
import { refusal } from "./core.ts";
import { Mutex } from "./mutex.ts";

// What OWASP's cheat sheet on password storage asks of scrypt: 128 MiB and a good third of a second for one guess.
const cost = { n: 131_072, r: 8, p: 1 };
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const checkBytes = 16;

/** A document without its sealed values: what these are bound to, so that no key is led to another host unseen. */
export type Frame = Readonly<Record<string, unknown>>;

/** One derivation at a time: each takes its 128 MiB. */
const oneAtATime = new Mutex();

/** Encrypts values with a passphrase, bound to the rest of their document. */
export async function sealValues(values: readonly string[], passphrase: string, frame: Frame): Promise<SealedValues> {
  const kdf = { name: "scrypt", ...cost, salt: randomBytes(saltBytes).toString("base64") } as const;
  const { sealing, check } = await derive(passphrase, kdf);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", sealing, nonce);
  cipher.setAAD(additionalData(frame));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(values), "utf8"), cipher.final(), cipher.getAuthTag()]);
  return {
    kdf,
    cipher: "aes-256-gcm",
    check: check.toString("base64"),
    nonce: nonce.toString("base64"),
    sealed: sealed.toString("base64"),
  };
}

/** @throws KeywheelError validation_failed for a wrong passphrase, and for a document that was damaged or changed */
export async function openValues(secrets: SealedValues, passphrase: string, frame: Frame): Promise<readonly string[]> {
  const { sealing, check } = await derive(passphrase, secrets.kdf);
  const told = Buffer.from(secrets.check, "base64");
  if (told.length !== check.length || !timingSafeEqual(told, check)) {
    throw refusal([{ path: "passphrase", message: "The passphrase is wrong", code: "refused" }]);
  }
  const nonce = Buffer.from(secrets.nonce, "base64");
  const sealed = Buffer.from(secrets.sealed, "base64");
  try {
    const decipher = createDecipheriv("aes-256-gcm", sealing, nonce, { authTagLength: tagBytes });
    decipher.setAAD(additionalData(frame));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const text = Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]).toString("utf8");
    return JSON.parse(text) as readonly string[];
  } catch (error) {
    const message = "The export was damaged, or changed since it was made: its keys cannot be trusted";
    throw new KeywheelError("validation_failed", message, {
      details: [{ path: "document.secrets", message }],
      hint: "Import the file as it was exported, or leave its keys out.",
      cause: error,
    });
  }
}

async function derive(
  passphrase: string,
  { n, r, p, salt }: SealedValues["kdf"],
): Promise<{ readonly sealing: Buffer; readonly check: Buffer }> {
  // The same letters typed on another system may be other code points.
  const text = passphrase.normalize("NFC");
  const run = promisify<string, Buffer, number, object, Buffer>(scrypt);
  const options = { N: n, r, p, maxmem: 128 * n * r + 1024 * 1024 };
  if (128 * n * r > 512 * 1024 * 1024) {
    const message = "The export asks for more memory than is given to it";
    throw refusal([{ path: "document.secrets.kdf", message, code: "refused" }]);
  }
  const bytes = await oneAtATime.run(() => run(text, Buffer.from(salt, "base64"), 64, options));
  const check = createHmac("sha256", bytes.subarray(32)).update("keywheel export").digest().subarray(0, checkBytes);
  return { sealing: bytes.subarray(0, 32), check };
}

function additionalData(frame: Frame): Buffer {
  return Buffer.from(JSON.stringify(inOrder(frame)), "utf8");
}

/** With the names of every object sorted: a document that was only formatted anew is the same one. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, part]) => [name, inOrder(part)]),
  );
}
