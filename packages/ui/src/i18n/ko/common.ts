import type { SectionOf } from "../catalogue.ts";

export const common: SectionOf<"common"> = {
  cancel: "취소",
  close: "닫기",
  confirm: "확인",
  copied: "복사됨",
  copy: "복사",
  delete: "삭제",
  discard: "그래도 닫기",
  discardHeading: "닫을까요?",
  discardNot: "돌아가기",
  discardShownOnce: "한 번만 표시되는 값입니다. 닫으면 다시 볼 수 없습니다.",
  managed: "설정 파일에서 관리",
  managedHint: "여기가 아니라 게이트웨이의 설정 파일에서 변경합니다.",
  discardTyped: "입력한 내용이 저장되지 않고 사라집니다.",
  leave: "나가기",
  leaveHeading: "저장하지 않고 나가시겠습니까?",
  leaveNot: "머무르기",
  retry: "다시 시도",
  save: "저장",
  showHide: "표시 또는 숨기기",
  underWay: "이미 전송되어 취소할 수 없습니다. 응답을 기다려 주세요.",
};
