import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { FileSetup } from "./client.ts";
import { planFile, writePlan } from "./files.ts";
import { jsonFormat } from "./json-format.ts";

const now = new Date("2026-11-30T12:00:00Z");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const aFile = (name: string): FileSetup => ({
  path: join(folder, name),
  format: jsonFormat,
  changes: [{ path: ["url"], value: "http://127.0.0.1:8787" }],
});
const mode = (path: string): number => statSync(path).mode & 0o777;

it("makes a file, and the folders on the way, for its owner alone", () => {
  const file = aFile("new/folder/settings.json");

  const backup = writePlan(planFile(file), now);

  expect(backup).toBeUndefined();
  expect([mode(file.path), mode(join(folder, "new"))]).toEqual([0o600, 0o700]);
  expect(readdirSync(join(folder, "new/folder"))).toEqual(["settings.json"]);
});

it("keeps what was there beside it, for its owner alone as well", () => {
  const file = aFile("settings.json");
  writeFileSync(file.path, '{"a": 1}', { mode: 0o644 });

  const backup = writePlan(planFile(file), now) ?? "";

  expect(backup).toMatch(/settings\.json\.20261130-120000-[0-9a-f]{4}\.bak$/);
  expect(readFileSync(backup, "utf8")).toBe('{"a": 1}');
  expect([mode(file.path), mode(backup)]).toEqual([0o600, 0o600]);
  expect(writePlan(planFile(file), now)).toBeUndefined();
});

it("writes nothing over what another program has written since", () => {
  const file = aFile("settings.json");
  writeFileSync(file.path, "{}");
  const plan = planFile(file);
  writeFileSync(file.path, '{"theirs": true}');

  expect(() => writePlan(plan, now)).toThrow("was changed by another program just now");
  expect(readFileSync(file.path, "utf8")).toBe('{"theirs": true}');
});

it("refuses a link to nowhere, a folder, and what is no text", () => {
  symlinkSync(join(folder, "nowhere"), join(folder, "link.json"));
  writeFileSync(join(folder, "binary.json"), Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));

  expect(() => planFile(aFile("link.json"))).toThrow("is a link to a file that is not there");
  expect(() => planFile({ ...aFile(""), path: folder })).toThrow("cannot be read: EISDIR.");
  expect(() => planFile(aFile("binary.json"))).toThrow("is not text in UTF-8");
});
