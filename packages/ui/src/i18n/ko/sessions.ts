import type { SectionOf } from "../catalogue.ts";

export const sessions: SectionOf<"sessions"> = {
  affinityOff: "세션 어피니티는 제공업체 설정에서 끌 수 있습니다.",
  carrier: "{{carrier}}로 식별됨",
  changed: "최신 순서로 보기",
  colActions: "작업",
  colBound: "바인딩 시작",
  colKey: "키",
  colLastUsed: "마지막 사용",
  colProvider: "제공업체",
  colRequests: "요청",
  colSession: "세션",
  emptyFiltered: "조건에 맞는 세션이 없습니다",
  emptyFilteredHint:
    "키에 바인딩된 세션만 표시됩니다. 제공업체 설정에 지정된 시간 동안 사용하지 않으면 목록에서 사라집니다.",
  emptyHeading: "아직 세션이 없습니다",
  emptyHint: "클라이언트가 세션을 지정하면 그 세션의 요청은 한 키로만 전송되고, 세션이 여기에 나타납니다.",
  end: "세션 종료",
  endConfirm: "{{session}} 세션을 종료할까요?",
  endText:
    "다음 요청은 휠에서 순서를 새로 받아 다른 키로 갈 수 있습니다. 채팅은 그대로 이어지지만 이전 키의 프롬프트 캐시는 더 이상 사용되지 않습니다.",
  ended: "세션을 종료했습니다. 다음 요청은 휠에서 순서를 새로 받습니다.",
  endNamed: "{{session}} 세션 종료",
  heading: "세션",
  helpHeading: "풀을 올바르게 구성했는데도 요청이 이전 키를 사용하나요?",
  helpText:
    "세션 어피니티 때문입니다. 프롬프트 캐시를 활용할 수 있도록 세션은 바인딩된 키를 계속 사용합니다. 새 채팅 세션을 시작하거나 여기에서 세션을 종료하세요. 이전 키가 쿨다운에 들어가면 자동으로 다른 키에 바인딩됩니다.",
  intro:
    "세션마다 어느 키에 바인딩되어 있는지 보여 줍니다. 키가 쿨다운에 들어가거나 비활성화 또는 삭제되거나 세션이 종료될 때까지 한 세션의 모든 요청은 같은 키를 사용합니다.",
  loadMore: "세션 더 불러오기",
  search: "세션 검색",
  tableLabel: "세션 목록",
  viewRequests: "이 세션의 요청",
  viewRequestsNamed: "{{session}} 세션의 요청",
};
