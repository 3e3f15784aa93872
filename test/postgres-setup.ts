import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { endPostgresIn } from "../packages/testkit/src/postgres.ts";
import { findPostgres } from "../scripts/lib/postgres.mjs";

/** Once for a whole run; the first test that needs PostgreSQL starts it. */
export function setup(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-postgres-"));
  project.provide("postgres", { folder, bin: findPostgres() });
  return () => endPostgresIn(folder);
}
