import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const pages = process.env.KEYWHEEL_DOCS_PAGES ?? fileURLToPath(new URL("../.pages", import.meta.url));
/** @param {string} name */
const read = (name) => JSON.parse(readFileSync(`${pages}/${name}`, "utf8"));

const koreanSearch = {
  translations: {
    button: { buttonText: "검색", buttonAriaLabel: "검색" },
    modal: {
      displayDetails: "자세히 보기",
      resetButtonTitle: "검색 초기화",
      backButtonTitle: "검색 닫기",
      noResultsText: "결과가 없습니다",
      footer: { selectText: "선택", navigateText: "이동", closeText: "닫기" },
    },
  },
};

/**
 * The anchor of a heading, as GitHub makes it: links work there and here. (VitePress's own takes Hangul syllables apart, and no
 * link that is written by hand finds them.)
 *
 * @param {string} heading
 */
function slugify(heading) {
  return heading
    .normalize("NFC")
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

export default {
  title: "Keywheel",
  srcDir: pages,
  outDir: process.env.KEYWHEEL_DOCS_OUT ?? fileURLToPath(new URL("../dist", import.meta.url)),
  cacheDir: process.env.KEYWHEEL_DOCS_CACHE ?? fileURLToPath(new URL("../.cache", import.meta.url)),
  base: process.env.KEYWHEEL_DOCS_BASE ?? "/",
  // Ends a build at the first link between pages that leads nowhere; the API reference of the library is laid beside them later.
  ignoreDeadLinks: [/^\/reference\//],
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${process.env.KEYWHEEL_DOCS_BASE ?? "/"}favicon.svg` }]],
  lastUpdated: false,
  // A page is small: nothing is asked for that nobody asked for.
  router: { prefetchLinks: false },
  metaChunk: true,
  markdown: { image: { lazyLoading: true }, anchor: { slugify } },
  locales: {
    root: {
      label: "English",
      lang: "en",
      description: "Several API keys of one LLM provider, behind one address",
      themeConfig: {
        sidebar: read("sidebar.json"),
        nav: [
          { text: "Start", link: "/start" },
          { text: "How it works", link: "/concepts" },
          { text: "API", link: "/api-reference" },
          { text: "Help", link: "/troubleshooting" },
        ],
        outline: { level: [2, 3] },
      },
    },
    ko: {
      label: "한국어",
      lang: "ko",
      link: "/ko/",
      description: "한 LLM 제공업체의 여러 API 키를 하나의 주소로",
      themeConfig: {
        sidebar: read("ko/sidebar.json"),
        nav: [
          { text: "시작하기", link: "/ko/start" },
          { text: "동작 원리", link: "/ko/concepts" },
          { text: "API", link: "/ko/api-reference" },
          { text: "도움말", link: "/ko/troubleshooting" },
        ],
        outline: { level: [2, 3], label: "이 페이지의 내용" },
        docFooter: { prev: "이전", next: "다음" },
        darkModeSwitchLabel: "화면 모드",
        lightModeSwitchTitle: "밝은 화면으로",
        darkModeSwitchTitle: "어두운 화면으로",
        sidebarMenuLabel: "메뉴",
        returnToTopLabel: "맨 위로",
        langMenuLabel: "언어 바꾸기",
        skipToContentLabel: "본문으로 건너뛰기",
      },
    },
  },
  themeConfig: {
    search: { provider: "local", options: { locales: { ko: koreanSearch } } },
  },
};
