import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/root.mjs";

export type Language = "en" | "ko";
export const languages: readonly Language[] = ["en", "ko"];

/** A page of the site: where its text comes from, and where it goes. */
export interface Page {
  /** Below the root of the repository. */
  readonly source: string;
  /** Below the site, without a suffix. */
  readonly target: string;
  /** In the sidebar; default: its heading. */
  readonly title?: Readonly<Record<Language, string>>;
}

export interface Group {
  readonly title: Readonly<Record<Language, string>>;
  readonly pages: readonly Page[];
  /** What VitePress does not make, but lies on the site as well. */
  readonly beside?: readonly { readonly title: Readonly<Record<Language, string>>; readonly link: string }[];
}

const docs = (target: string, en: string, ko: string): Page => ({
  source: `docs/${target}.md`,
  target,
  title: { en, ko },
});

/** What may be on another branch still is left out while it is missing. */
const present = (pages: readonly Page[]): readonly Page[] => pages.filter(({ source }) => isThere(source));

/** Pages with a place of their own, in the order of the sidebar. One source each: the repository's own pages. */
const placed: readonly Group[] = [
  {
    title: { en: "Start", ko: "시작" },
    pages: [docs("start", "Start", "시작하기"), docs("concepts", "How it works", "동작 원리")],
  },
  {
    title: { en: "Clients", ko: "클라이언트" },
    pages: [
      docs("clients", "Connect a client", "클라이언트 연결"),
      docs("clients/README", "All clients", "모든 클라이언트"),
      ...pagesIn("docs/clients", "clients"),
    ],
  },
  {
    title: { en: "Providers", ko: "제공업체" },
    pages: [docs("providers", "All providers", "모든 제공업체")],
  },
  {
    title: { en: "Operate", ko: "운영" },
    pages: present([
      docs("operations", "Operations", "운영"),
      docs("configuration", "Configuration file", "구성 파일"),
      docs("configuration-file", "Configuration file", "구성 파일"),
      docs("observability", "Observability", "관측"),
      docs("scaling", "Several gateways", "여러 게이트웨이"),
      docs("shared-state", "Shared state", "공유 상태"),
      docs("performance", "Performance", "성능"),
      {
        source: "deploy/compose/README.md",
        target: "deploy/compose",
        title: { en: "Compose", ko: "Compose" },
      },
      {
        source: "deploy/kubernetes/README.md",
        target: "deploy/kubernetes",
        title: { en: "Kubernetes", ko: "Kubernetes" },
      },
    ]),
  },
  {
    title: { en: "Reference", ko: "참조" },
    pages: [
      docs("api-reference", "API", "API"),
      docs("errors", "Errors", "오류"),
      { source: "packages/pool/README.md", target: "library", title: { en: "Library", ko: "라이브러리" } },
    ],
    beside: [
      { title: { en: "Library: all names", ko: "라이브러리: 전체 API (영어)" }, link: "/reference/library/index.html" },
    ],
  },
  {
    title: { en: "Help", ko: "도움말" },
    pages: present([
      docs("troubleshooting", "Troubleshooting", "문제 해결"),
      docs("comparison", "Comparison", "비교"),
      { source: "SECURITY.md", target: "security", title: { en: "Security", ko: "보안" } },
      docs("threat-model", "Threat model", "위협 모델"),
      docs("dependencies", "Dependencies", "의존성"),
    ]),
  },
  {
    title: { en: "Project", ko: "프로젝트" },
    pages: present([
      { source: "CHANGELOG.md", target: "changelog", title: { en: "Changes", ko: "변경 사항" } },
      { source: "CONTRIBUTING.md", target: "contributing", title: { en: "Contributing", ko: "기여" } },
      docs("ARCHITECTURE", "Architecture", "아키텍처"),
    ]),
  },
];

const home: Page = { source: "docs/index.md", target: "index" };
const known = new Set([home, ...placed.flatMap((group) => group.pages)].map(({ source }) => source));

/** All of them: a text in `docs` that nobody has given a place stands with those for operators. */
export const groups: readonly Group[] = placed.map((group) =>
  group.title.en === "Operate"
    ? { ...group, pages: [...group.pages, ...pagesIn("docs", "").filter(({ source }) => !known.has(source))] }
    : group,
);

export const pages: readonly Page[] = [home, ...groups.flatMap((group) => group.pages)];

/** The text in a language: for Korean its twin in `docs/ko`, undefined where there is none yet. */
export function sourceIn(language: Language, page: Page): string | undefined {
  if (language === "en") return page.source;
  const twin = `docs/ko/${page.target}.md`;
  return isThere(twin) ? twin : undefined;
}

export function isThere(path: string): boolean {
  return existsSync(join(root, path));
}

function pagesIn(folder: string, target: string): readonly Page[] {
  if (!isThere(folder)) return [];
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .sort()
    .map((name) => ({ source: `${folder}/${name}`, target: join(target, name.replace(/\.md$/, "")) }));
}
