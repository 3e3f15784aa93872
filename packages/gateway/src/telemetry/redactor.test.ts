import { randomBytes } from "node:crypto";
import { Secret } from "@keywheel/pool";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redacted, Redactor } from "./redactor.ts";

const secret = "Zx9/pQ+4tLm=7vBn-2kJh_Wd";

function aRedactor(...values: string[]): (text: string) => string {
  const redactor = new Redactor();
  redactor.learn(values);
  return redactor.redact;
}

describe("what it knows", () => {
  it.each([
    ["plain", secret],
    ["URL-encoded", encodeURIComponent(secret)],
    ["URL-encoded in lower case", lowerEscapes(secret)],
    ["the password of basic credentials", Buffer.from(`user:${secret}`).toString("base64")],
    ["base64 with nothing before it", Buffer.from(secret).toString("base64")],
    ["base64 with one byte before it", Buffer.from(`x${secret}yz`).toString("base64")],
    ["base64url", Buffer.from(`{"k":"${secret}"}`).toString("base64url")],
  ])("takes out a value: %s", (_form, text) => {
    const shown = aRedactor(secret)(`before ${text} after`);

    expect(shown).toMatch(/^before .*\[redacted\].* after$/);
    expect(slicesOf(text).filter((slice) => shown.includes(slice))).toEqual([]);
  });

  it("remembers texts that come again only for as long as it learns nothing new", () => {
    const redactor = new Redactor();
    const texts = Array.from({ length: 2_500 }, (_, n) => `/v1/files/${n}/the-one-secret`);
    expect(texts.map(redactor.redactAgain)).toEqual(texts);
    expect(texts.map(redactor.redactAgain)).toEqual(texts);

    redactor.learn(["the-one-secret"]);
    expect(redactor.redactAgain("/v1/files/2499/the-one-secret")).toBe(`/v1/files/2499/${redacted}`);
    expect(redactor.redactAgain("/v1/files/2499/the-one-secret")).toBe(`/v1/files/2499/${redacted}`);

    redactor.learn(["2499/x"]);
    expect(redactor.redactAgain("a 2499/x b")).toBe(`a ${redacted} b`);
  });

  it("takes out a value with a quote in it from a line of JSON, which stays JSON", () => {
    const value = 'abc"def\\ghi123';

    const shown = aRedactor(value)(JSON.stringify({ message: `wrong key ${value}.` }));

    expect(JSON.parse(shown)).toEqual({ message: `wrong key ${redacted}.` });
  });

  it("takes out known values alone where nothing else may be touched", () => {
    const redactor = new Redactor();
    redactor.learn([secret]);

    const shown = redactor.redactKnown(`${secret}, sk-somebody-elses-0123456789`);

    expect(shown).toBe(`${redacted}, sk-somebody-elses-0123456789`);
  });

  it("takes out what is left of a value that was cut off", () => {
    expect(aRedactor(secret)(`key ${secret.slice(0, 14)}…`)).toBe(`key ${redacted}…`);
    expect(aRedactor(secret)(`key …${secret.slice(-12)}`)).toBe(`key …${redacted}`);
  });

  it("leaves the mask of a key, by which people tell keys apart", () => {
    const value = new Secret("sk-proj-0123456789abcdef9f2c");

    expect(aRedactor(value.reveal())(`key ${value.masked} rests`)).toBe("key sk-…9f2c rests");
  });

  it("hides each of many keys that begin alike", () => {
    const keys = Array.from({ length: 300 }, (_, i) => `sk-team-alpha-2026-${String(i).padStart(4, "0")}`);

    const shown = aRedactor(...keys)(keys.join("\n"));

    expect(shown).toBe(keys.map(() => redacted).join("\n"));
  });

  it("hides a short value with a digit where it stands alone, and no word", () => {
    const redact = aRedactor("pa55wd", "openai", "none");

    expect(redact('{"key":"pa55wd","provider":"openai","hint":"none"}')).toBe(
      '{"key":"[redacted]","provider":"openai","hint":"none"}',
    );
    expect(redact("xpa55wdx")).toBe("xpa55wdx");
  });

  it("takes secrets as well as strings", () => {
    const redactor = new Redactor();
    redactor.learn([new Secret(secret)]);

    expect(redactor.redact(secret)).toBe(redacted);
  });
});

describe("what it has never seen", () => {
  it.each([
    ["Incorrect API key provided: sk-live-0123456789abcdefXYZ.", "Incorrect API key provided: [redacted]."],
    ["AIzaSyA1234567890abcdefghijklmnop", "[redacted]"],
    ["wrong%20key%3Ask-live-0123456789abcdefXYZ", "wrong%20key%3A[redacted]"],
    ["authorization: Bearer abcdefgh.ijk", "authorization: Bearer [redacted]"],
    ["GET /v1beta/models?key=abc123&alt=sse", "GET /v1beta/models?key=[redacted]&alt=sse"],
    ["/ui/sign-in?code=Q1w2e3", "/ui/sign-in?code=[redacted]"],
    ["kwa_0123456789abcdefghijkl", "[redacted]"],
    ["realtime, openai-insecure-api-key.abcdefghijkl", "realtime, openai-insecure-api-key.[redacted]"],
    ["postgres://keywheel:hunter2@db:5432/keywheel", "postgres://keywheel:[redacted]@db:5432/keywheel"],
  ])("%s", (text, expected) => {
    expect(new Redactor().redact(text)).toBe(expected);
  });

  it.each([
    "sk-…9f2c",
    "The bearer of this ticket",
    "http://127.0.0.1:8787/openai/v1/chat/completions",
    "risk-assessment-of-long-words",
    "key_01JABCDEFGHJKMNPQRSTVWXYZ",
  ])("leaves alone: %s", (text) => {
    expect(new Redactor().redact(text)).toBe(text);
  });
});

it("leaves no twelve characters of a value in any text around it", () => {
  const value = fc.string({
    minLength: 16,
    maxLength: 60,
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
  });
  fc.assert(
    fc.property(value, fc.string(), fc.string(), fc.nat(40), (known, before, after, length) => {
      const redact = aRedactor(known);
      const quoted = known.slice(0, 12 + length);

      const shown = redact(`${before}${quoted}${after}`);

      return slicesOf(quoted).every((slice) => !shown.replaceAll(redacted, "\n").includes(slice));
    }),
  );
});

it("reads a long text once, however many values it knows", () => {
  const redactor = new Redactor();
  redactor.learn(Array.from({ length: 2000 }, () => `sk-proj-${randomBytes(24).toString("base64url")}`));
  const hostile = ["sk-proj-", "Bearer ", "eyJaaaaaaaaa.", "http://a:", "?key="]
    .map((part) => part.repeat(20_000))
    .join(" ");

  const started = performance.now();
  redactor.redact(hostile);

  // Real time, since it is the time that is tested: some 10 ms here; a quadratic step would take minutes.
  expect(performance.now() - started).toBeLessThan(3000);
});

function slicesOf(text: string): string[] {
  return Array.from({ length: Math.max(0, text.length - 11) }, (_, i) => text.slice(i, i + 12));
}

function lowerEscapes(text: string): string {
  return encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}
