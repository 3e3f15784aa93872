import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createPrivateFile, createPrivateText, preparePrivateFolder, tightenFile } from "./private-files.ts";

describe("the data directory", () => {
  it("is made with all that leads to it, for its owner alone", () => {
    const folder = join(aFolder(), "a", "b");

    preparePrivateFolder(folder);

    expect(modeOf(folder)).toBe(0o700);
  });

  it("is closed to others when it was open to them", () => {
    const folder = aFolder();
    chmodSync(folder, 0o755);

    preparePrivateFolder(folder);

    expect(modeOf(folder)).toBe(0o700);
  });

  it("is refused where a whole machine lives in it", () => {
    const folder = aFolder();
    chmodSync(folder, 0o1777);

    expect(() => preparePrivateFolder(folder)).toThrow(/shared by the whole machine/);
    expect(() => preparePrivateFolder("/")).toThrow(/shared by the whole machine/);
    expect(modeOf(folder)).toBe(0o777);
  });

  it("is refused with its name where a file lies in its place", () => {
    const path = join(aFolder(), "file");
    writeFileSync(path, "");

    expect(() => preparePrivateFolder(path)).toThrow(`The data directory ${path} cannot be used: EEXIST`);
  });
});

describe("a private file", () => {
  it("has mode 0600 from its first byte on", () => {
    const path = join(aFolder(), "file");
    let draftMode = 0;

    createPrivateFile(path, (draft) => {
      draftMode = modeOf(draft);
      writeFileSync(draft, "text");
    });

    expect(draftMode).toBe(0o600);
    expect(modeOf(path)).toBe(0o600);
    expect(readFileSync(path, "utf8")).toBe("text");
  });

  it("is left as it is when it was there before", () => {
    const path = join(aFolder(), "file");
    createPrivateText(path, "first");

    expect(createPrivateText(path, "second")).toBe(false);
    expect(readFileSync(path, "utf8")).toBe("first");
  });

  it("is there whole or not at all", () => {
    const folder = aFolder();

    const creating = () =>
      createPrivateFile(join(folder, "file"), (draft) => {
        writeFileSync(draft, "half");
        throw new Error("the disk is full");
      });

    expect(creating).toThrow(/file cannot be made: the disk is full/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("loses a mode that lets others in, and may be missing", () => {
    const path = join(aFolder(), "file");
    writeFileSync(path, "");
    chmodSync(path, 0o664);

    tightenFile(path);
    tightenFile(`${path}-wal`);

    expect(modeOf(path)).toBe(0o600);
  });

  it("is not made writable where its owner made it read-only", () => {
    const path = join(aFolder(), "file");
    writeFileSync(path, "");
    chmodSync(path, 0o444);

    tightenFile(path);

    expect(modeOf(path)).toBe(0o400);
  });
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

/** Below a folder of its own, because the tests change modes. */
function aFolder(): string {
  const outer = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
  const folder = join(outer, "folder");
  mkdirSync(folder);
  return folder;
}
