import { expect, it, vi } from "vitest";
import { openValues, sealValues } from "./export-seal.ts";

// Each derivation takes its time and 128 MiB, as it should.
vi.setConfig({ testTimeout: 60_000 });

const frame = { format: "keywheel-export", providers: [{ slug: "openai", base_url: "https://api.openai.com/v1" }] };
const values = ["sk-first-0123456789", "sk-second-0123456789"];
const wrong = { code: "validation_failed", message: "The passphrase is wrong" };
const damaged = { code: "validation_failed", message: expect.stringContaining("damaged, or changed") };

it("opens with the passphrase, composed or decomposed, and with no other", async () => {
  const sealed = await sealValues(values, "비밀번호 열쇠", frame);

  expect(await openValues(sealed, "비밀번호 열쇠".normalize("NFD"), frame)).toEqual(values);
  await expect(openValues(sealed, "비밀번호 자물쇠", frame)).rejects.toMatchObject(wrong);
  expect(JSON.stringify(sealed)).not.toContain("0123456789");
});

it("seals the same anew each time, at a cost of 128 MiB", async () => {
  const [one, other] = [await sealValues(values, "passphrase", frame), await sealValues(values, "passphrase", frame)];

  expect(one.kdf).toMatchObject({ name: "scrypt", n: 131_072, r: 8, p: 1 });
  expect(one.kdf.salt).not.toBe(other.kdf.salt);
  expect(one.sealed).not.toBe(other.sealed);
});

it("is bound to the document, whatever the order of its fields", async () => {
  const sealed = await sealValues(values, "passphrase", frame);
  const reordered = { providers: [{ base_url: "https://api.openai.com/v1", slug: "openai" }], format: frame.format };
  const elsewhere = { ...frame, providers: [{ slug: "openai", base_url: "https://thief.example/v1" }] };

  expect(await openValues(sealed, "passphrase", reordered)).toEqual(values);
  await expect(openValues(sealed, "passphrase", elsewhere)).rejects.toMatchObject(damaged);
});

it("tells a damaged document from a wrong passphrase", async () => {
  const sealed = await sealValues(values, "passphrase", frame);
  const bytes = Buffer.from(sealed.sealed, "base64");
  bytes[3] = (bytes[3] ?? 0) ^ 1;

  for (const broken of [bytes.toString("base64"), "AAAA"]) {
    await expect(openValues({ ...sealed, sealed: broken }, "passphrase", frame)).rejects.toMatchObject(damaged);
  }
  await expect(openValues({ ...sealed, nonce: "AAAA" }, "passphrase", frame)).rejects.toMatchObject(damaged);
});

it("gives a document no more memory than is sound", async () => {
  const sealed = await sealValues(values, "passphrase", frame);
  const greedy = { ...sealed, kdf: { ...sealed.kdf, n: 1_048_576, r: 16 } };

  await expect(openValues(greedy, "passphrase", frame)).rejects.toMatchObject({
    message: "The export asks for more memory than is given to it",
  });
});
