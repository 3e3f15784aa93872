import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect } from "vitest";
import { exportDocumentSchema } from "../../contract/transfer.ts";
import { documentOf } from "./document.ts";
import { readers } from "./readers.ts";
import type { ForeignTool } from "./tools.ts";

/** A folder for the files of another tool, anew for each test. */
export function foreignFolder() {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "keywheel-foreign-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  return {
    path,
    file: (name: string, content: string | Uint8Array): string => {
      writeFileSync(path(name), content);
      return path(name);
    },
    /** A SQLite database with a schema as the tool makes it. */
    database: (name: string, schema: string, rows: readonly (readonly [table: string, fields: Row])[]): string => {
      const db = new DatabaseSync(path(name));
      db.exec(schema);
      for (const [table, fields] of rows) {
        const names = Object.keys(fields).map((field) => `\`${field}\``);
        const query = `INSERT INTO \`${table}\` (${names.join()}) VALUES (${names.map(() => "?").join()})`;
        db.prepare(query).run(...Object.values(fields));
      }
      db.close();
      return path(name);
    },
  };
}

export type Row = Readonly<Record<string, string | number | null>>;

/**
 * Providers as `slug base URL (kind)` with their keys as `key label×weight @group`, those that are off in brackets; what is left.
 */
export async function taken(tool: ForeignTool, path: string, environment: Record<string, string> = {}) {
  const { document, left } = documentOf(await readers[tool]({ path, environment }), 0);
  // What the gateway takes is what its contract says.
  expect(exportDocumentSchema.safeParse(document).success).toBe(true);
  const off = (text: string, enabled: boolean): string => (enabled ? text : `[${text}]`);
  return {
    pools: Object.fromEntries(
      document.providers.map(({ slug, base_url: url, kind, enabled, keys }) => [
        off(`${slug} ${url} (${kind})`, enabled),
        keys.map((key) => {
          const value = typeof key.api_key === "string" ? key.api_key : "?";
          return off(
            `${value} ${key.label}×${key.weight}${key.group === undefined ? "" : ` @${key.group}`}`,
            key.enabled,
          );
        }),
      ]),
    ),
    left: left.map(({ what, why }) => `${what}: ${why}`),
  };
}
