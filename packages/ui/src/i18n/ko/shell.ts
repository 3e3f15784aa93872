import type { SectionOf } from "../catalogue.ts";

export const shell: SectionOf<"shell"> = {
  colorScheme: "화면 테마",
  colorSchemeAuto: "시스템 설정",
  colorSchemeDark: "어둡게",
  colorSchemeLight: "밝게",
  language: "언어",
  live: "실시간",
  liveConnecting: "연결 중…",
  liveHint: "게이트웨이에서 일어나는 일이 바로 표시됩니다.",
  liveLost: "연결 끊김",
  liveLostHint: "게이트웨이가 응답하지 않습니다. 표시된 내용이 최신이 아닐 수 있습니다.",
  loading: "불러오는 중",
  navigation: "탐색",
  openNavigation: "탐색 열기",
  preferences: "언어, 화면 테마, 로그아웃",
  providers: "제공업체 관리",
  settings: "설정",
  signOut: "로그아웃",
  skipToContent: "본문으로 건너뛰기",
  version: "버전 {{version}}",
};
