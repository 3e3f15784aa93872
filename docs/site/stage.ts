// Lays out the pages of the documentation site: those of the repository with their links turned, and those that are made from the
// catalog of providers and from the API's description. `node --conditions=source docs/site/stage.ts <folder>`
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../../scripts/lib/root.mjs";
import { apiPages, apiTable } from "./api-pages.ts";
import { rewriteLinks } from "./links.ts";
import { groups, type Language, languages, type Page, pages, sourceIn } from "./pages.ts";
import { providerPages, providerTable } from "./provider-pages.ts";

const [folder = join(import.meta.dirname, ".pages")] = process.argv.slice(2);
const dead: string[] = [];
const images = new Set<string>();

const generated = (language: Language): Readonly<Record<string, string>> => ({
  providers: providerTable(language),
  api: apiTable(language),
});

rmSync(folder, { recursive: true, force: true });
for (const language of languages) {
  for (const page of pages) stage(page, language);
  for (const page of [...providerPages(language), ...apiPages(language)]) write(page.target, language, page.text);
  write("sidebar", language, JSON.stringify(sidebarOf(language)), "json");
}
for (const image of images) {
  const target = join(folder, "public", image);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, image), target);
}
for (const name of ["favicon.svg"]) {
  mkdirSync(join(folder, "public"), { recursive: true });
  copyFileSync(join(root, "packages", "ui", "public", name), join(folder, "public", name));
}
if (dead.length > 0) {
  console.error(`Links that lead nowhere:\n${dead.join("\n")}`);
  process.exitCode = 1;
}

function stage(page: Page, language: Language): void {
  const source = sourceIn(language, page);
  if (source === undefined) return write(page.target, language, notYet(page));
  const rewritten = rewriteLinks(readFileSync(join(root, source), "utf8"), source, language);
  for (const image of rewritten.images) images.add(image);
  dead.push(...rewritten.dead.map((target) => `${source}: ${target}`));
  const made = generated(language);
  const text = rewritten.text.replaceAll(/<!-- generated: (\w+) -->/g, (whole, name: string) => {
    const piece = made[name];
    if (piece === undefined) throw new Error(`${source} asks for ${whole}, which nothing makes.`);
    return piece;
  });
  write(page.target, language, text);
}

/** So that changing the language never leads nowhere. */
function notYet(page: Page): string {
  const title = page.title?.ko ?? headingOf(page, "en");
  return `---\nsearch: false\n---\n\n# ${title}\n\n이 페이지는 아직 영어로만 있습니다: [${headingOf(page, "en")}](/${page.target})\n`;
}

function write(target: string, language: Language, text: string, suffix = "md"): void {
  const path = join(folder, language === "ko" ? "ko" : "", `${target}.${suffix}`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

interface SidebarItem {
  readonly text: string;
  readonly link: string;
  readonly target?: string;
  readonly items?: readonly SidebarItem[];
  readonly collapsed?: boolean;
}

function sidebarOf(language: Language): object {
  const prefix = language === "ko" ? "/ko" : "";
  const made: Readonly<Record<string, readonly { readonly target: string; readonly title: string }[]>> = {
    providers: providerPages(language),
    "api-reference": apiPages(language),
  };
  return groups.map(({ title, pages: inGroup, beside = [] }) => ({
    text: title[language],
    items: inGroup
      .map((page): SidebarItem => {
        const inKorean = language === "ko" && sourceIn("ko", page) !== undefined;
        const note = language === "ko" && !inKorean ? " (영어)" : "";
        const items = made[page.target]?.map((one) => ({ text: one.title, link: `${prefix}/${one.target}` }));
        return {
          text: (page.title?.[language] ?? headingOf(page, language)) + note,
          link: `${inKorean ? "/ko" : ""}/${page.target}`,
          ...(items === undefined ? {} : { items, collapsed: true }),
        };
      })
      .concat(beside.map((one) => ({ text: one.title[language], link: one.link, target: "_self" }))),
  }));
}

/** The first heading of a page's text in a language, or of the English one where there is no other. */
function headingOf(page: Page, language: Language): string {
  const source = sourceIn(language, page) ?? page.source;
  const [, heading = page.target] = /^# (.+)$/m.exec(readFileSync(join(root, source), "utf8")) ?? [];
  return heading;
}
