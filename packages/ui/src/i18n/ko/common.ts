import type { SectionOf } from "../catalogue.ts";

export const common: SectionOf<"common"> = {
  cancel: "취소",
  close: "닫기",
  confirm: "확인",
  copied: "복사됨",
  copy: "복사",
  delete: "삭제",
  retry: "다시 시도",
  save: "저장",
  showHide: "표시 또는 숨기기",
};
