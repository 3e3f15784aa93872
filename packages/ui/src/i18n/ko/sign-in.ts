import type { SectionOf } from "../catalogue.ts";

export const signIn: SectionOf<"signIn"> = {
  againHeading: "다시 로그인",
  againHint:
    "이 브라우저의 로그인이 끝났습니다. 세션이 만료되었거나, 관리자 토큰이 바뀌었거나, 다른 탭에서 로그아웃했습니다. 이 페이지와 입력한 내용은 그대로 유지됩니다.",
  heading: "Keywheel에 로그인",
  leave: "이 페이지 나가기",
  linkSpent: "이 로그인 링크는 이미 사용되었거나 15분이 지났습니다.",
  linkSpentHint: "게이트웨이를 다시 시작해 새 링크를 받거나 관리자 토큰으로 로그인하세요.",
  submit: "로그인",
  token: "관리자 토큰",
  tokenHint: "게이트웨이를 처음 시작할 때 출력되었거나 KEYWHEEL_ADMIN_TOKEN으로 설정한 값입니다.",
  tokenMissing: "관리자 토큰을 입력하세요.",
  tokenWrong: "관리자 토큰이 올바르지 않습니다.",
};
