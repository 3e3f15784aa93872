import type { SectionOf } from "../catalogue.ts";

export const errors: SectionOf<"errors"> = {
  conflict: "저장된 내용과 충돌합니다.",
  failed: "작업을 완료하지 못했습니다",
  internal: "게이트웨이 내부 오류가 발생했습니다. 자세한 내용은 로그를 확인하세요.",
  invalid: "입력한 값 중 사용할 수 없는 것이 있습니다.",
  loadFailed: "불러오지 못했습니다",
  notFound: "존재하지 않거나 이미 삭제되었습니다.",
  notFoundPage: "페이지를 찾을 수 없습니다",
  offline: "게이트웨이가 응답하지 않습니다. 실행 중인지 확인한 뒤 다시 시도하세요.",
  pageBroke: "이 페이지에서 오류가 발생했습니다",
  pageBrokeHint: "저장된 내용은 그대로입니다. 페이지를 새로고침하고, 문제가 반복되면 아래 세부 정보를 알려 주세요.",
  reload: "새로고침",
  storeUnavailable: "지금은 데이터베이스에 쓸 수 없어 아무것도 변경되지 않았습니다. 잠시 후 다시 시도하세요.",
  toProviders: "제공업체 관리로 이동",
  tooLarge: "한 번에 보내기에는 너무 큽니다. 나누어 보내세요.",
  tooManyAttempts: "잘못된 토큰을 너무 많이 입력했습니다. {{wait}} 후에 다시 시도하세요.",
  unreadable: "페이지와 게이트웨이 사이의 다른 서버가 응답했습니다({{status}}).",
};
