import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./report.ts";
import type { Results } from "./results.ts";

export interface Pages {
  readonly root: string;
  readonly out: string;
  /** Also into `bench/`, `docs/` and its images. */
  readonly isPublished: boolean;
}

const marks = { begin: "<!-- results: written by npm run bench -->", end: "<!-- end of results -->" };

/** Writes results, report and charts to the folder of the run, and, if asked, into the pages of the repository. */
export function writeReport({ root, out, isPublished }: Pages, results: Results, report: Report): void {
  const page = (images: string): string =>
    `# Results of the benchmark\n\nWritten by the program that made them; do not edit. What they mean: [docs/performance.md](../docs/performance.md).\n\n${report.markdown(images)}\n`;
  const json = `${JSON.stringify(results, undefined, 1)}\n`;
  mkdirSync(out, { recursive: true });
  write(out, { "RESULTS.md": page("."), "results.json": json, ...report.charts });
  if (!isPublished) return;
  write(join(root, "bench"), { "RESULTS.md": page("../docs/images"), "results.json": json });
  write(join(root, "docs", "images"), report.charts);
  const performance = join(root, "docs", "performance.md");
  writeFileSync(performance, withResults(readFileSync(performance, "utf8"), report.markdown("images")));
  // As the checks want it: pages and figures are kept in the repository.
  const written = [performance, join(root, "bench", "RESULTS.md"), join(root, "bench", "results.json")];
  execFileSync(join(root, "node_modules", ".bin", "oxfmt"), written, { cwd: root, stdio: "ignore" });
}

/** The page with what stands between its marks replaced. @throws if it has no marks */
export function withResults(page: string, text: string): string {
  const [before, rest] = page.split(marks.begin);
  const after = rest?.split(marks.end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`The page needs ${marks.begin} and ${marks.end} around the results.`);
  return `${before}${marks.begin}\n\n${text}\n\n${marks.end}${after}`;
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}
