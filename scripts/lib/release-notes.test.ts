import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { releaseNotes } from "./release-notes.mjs";
import { root } from "./root.mjs";

const changelog = `# Changelog

## Unreleased

## 0.2.0 - 2026-12-24

### Added

- This.

## 0.1.0 - unreleased

- That.
`;

function sourcesAt(version: string, { dependency = version, pool = version } = {}) {
  const gateway = { version, devDependencies: { "@keywheel/pool": dependency } };
  return { changelog, gateway, pool: { version: pool } };
}

describe("the notes of a release", () => {
  it("are what the changelog says of the version", () => {
    expect(releaseNotes("v0.2.0", sourcesAt("0.2.0"))).toBe("### Added\n\n- This.");
  });

  it.each([
    ["latest", sourcesAt("0.2.0"), 'Expected a tag such as v0.1.0, got "latest".'],
    ["v0.3.0", sourcesAt("0.2.0"), "Expected keywheel's version to be 0.3.0"],
    ["v0.2.0", sourcesAt("0.2.0", { pool: "0.1.0" }), "@keywheel/pool's version to be 0.2.0"],
    ["v0.2.0", sourcesAt("0.2.0", { dependency: "0.1.0" }), "dependency on @keywheel/pool to be 0.2.0"],
    ["v0.3.0", sourcesAt("0.3.0"), 'no entry "## 0.3.0 - <date>"'],
    ["v0.1.0", sourcesAt("0.1.0"), "Give the entry of 0.1.0 in CHANGELOG.md its date"],
  ])("are refused for %s where something does not agree", (tag, sources, message) => {
    expect(() => releaseNotes(tag, sources)).toThrow(message);
  });
});

it("the changelog has an entry for the version that the packages carry", () => {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const { version } = JSON.parse(read("packages/gateway/package.json")) as { readonly version: string };

  expect(read("CHANGELOG.md")).toMatch(
    new RegExp(`^## ${version.replaceAll(".", "\\.")} - (unreleased|\\d{4}-\\d\\d-\\d\\d)$`, "m"),
  );
});
