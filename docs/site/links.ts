import { dirname, join } from "node:path/posix";
import { isThere, type Language, languages, type Page, pages, sourceIn } from "./pages.ts";

/** Where the sources can be read, ending with a slash; files that are no pages lead there. Without it they are named only. */
const repository = process.env["KEYWHEEL_DOCS_REPOSITORY"];

interface Place {
  readonly page: Page;
  readonly language: Language;
}

const bySource: ReadonlyMap<string, Place> = new Map(
  languages.flatMap((language) =>
    pages.flatMap((page): [string, Place][] => {
      const source = sourceIn(language, page);
      return source === undefined ? [] : [[source, { page, language }]];
    }),
  ),
);

export interface Rewritten {
  readonly text: string;
  /** Files that the page shows, below the root of the repository. */
  readonly images: readonly string[];
  /** Targets that lead nowhere. */
  readonly dead: readonly string[];
}

/**
 * Turns the links of a page of the repository into links of the site. To another page: to that page, in the language of the reader
 * where it has it. To any other file: to the repository, if it is known where that is.
 *
 * @param source the page, below the root of the repository
 */
export function rewriteLinks(text: string, source: string, language: Language): Rewritten {
  const images: string[] = [];
  const dead: string[] = [];
  const resolve = (target: string): string => join(dirname(source), target);

  const imageOf = (target: string): string => {
    if (/^https?:/.test(target)) return target;
    const path = resolve(target);
    if (!isThere(path)) dead.push(target);
    images.push(path);
    return `/${path}`;
  };
  const linkOf = (whole: string, words: string, target: string): string => {
    if (/^(?:[a-z]+:|#)/.test(target)) return whole;
    const [file = "", fragment] = target.split("#");
    const path = resolve(file);
    const place = bySource.get(path) ?? generatedPlace(path);
    const suffix = fragment === undefined ? "" : `#${fragment}`;
    if (place !== undefined) return `[${words}](${addressOf(place, language)}${suffix})`;
    if (!isThere(path)) dead.push(target);
    return repository === undefined ? words : `[${words}](${repository}${path}${suffix})`;
  };

  const rewritten = outsideOfCode(text, (piece) =>
    piece
      .replaceAll(
        /!\[([^\]]*)\]\(([^)\s]+)\)/g,
        (_, words: string, target: string) => `![${words}](${imageOf(target)})`,
      )
      .replaceAll(/\b(src|srcset)="([^"]+)"/g, (_, name: string, target: string) => `${name}="${imageOf(target)}"`)
      .replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g, linkOf),
  );
  return { text: rewritten, images, dead };
}

/** Pages that are made with the site: `docs/providers/groq.md` is nowhere to be found, and yet there. */
function generatedPlace(path: string): Place | undefined {
  const [, korean, target] = /^docs\/(ko\/)?((?:providers|api-reference)\/[\w-]+)\.md$/.exec(path) ?? [];
  if (target === undefined) return undefined;
  return { page: { source: path, target }, language: korean === undefined ? "en" : "ko" };
}

/** An address on the site, for a reader of a language. */
function addressOf({ page, language: written }: Place, language: Language): string {
  const isGenerated = !bySource.has(page.source);
  const inKorean = written === "ko" || (language === "ko" && (isGenerated || sourceIn("ko", page) !== undefined));
  const path = page.target === "index" ? "" : page.target;
  return `/${inKorean ? "ko/" : ""}${path}`;
}

/** Applies a change to a text, but to no code in it. */
function outsideOfCode(text: string, change: (piece: string) => string): string {
  return text
    .split(/(^```[\s\S]*?^```$|``[^`]*``|`[^`\n]*`(?!\]\())/m)
    .map((piece, at) => (at % 2 === 0 ? change(piece) : piece))
    .join("");
}
