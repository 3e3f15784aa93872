import type { Meaning, RecognisedAnswer } from "../../packages/pool/src/rules/recognised-answer.ts";
import { providerPresets, type ProviderPreset } from "../../packages/gateway/src/catalog/presets.ts";
import type { Language } from "./pages.ts";

type Words = Readonly<Record<Language, string>>;

/** What follows from what an answer means. @see packages/pool/src/rules/judge.ts, which a test holds this to */
export const consequences: Readonly<Record<Meaning, Words>> = {
  succeeded: { en: "A success.", ko: "성공입니다." },
  rate_limited: {
    en: "The key rests; the next key serves.",
    ko: "키가 쿨다운에 들어가고 다음 키가 처리합니다.",
  },
  model_rate_limited: {
    en: "The key rests (with `cooldown.scope` `model`: for that model only); the next key serves.",
    ko: "키가 쿨다운에 들어가고(`cooldown.scope`가 `model`이면 해당 모델에 대해서만) 다음 키가 처리합니다.",
  },
  overloaded: {
    en: "Overloaded: the key rests; the next key serves.",
    ko: "과부하: 키가 쿨다운에 들어가고 다음 키가 처리합니다.",
  },
  quota_exhausted: {
    en: "Quota or balance used up: the key rests for the longest time at once; the next key serves.",
    ko: "할당량 또는 잔액 소진: 키가 바로 가장 긴 시간 동안 쿨다운에 들어가고 다음 키가 처리합니다.",
  },
  budget_in_flight: {
    en: "The rest of the credit is reserved by requests under way: the key rests; the next key serves.",
    ko: "남은 크레딧이 진행 중인 요청에 예약됨: 키가 쿨다운에 들어가고 다음 키가 처리합니다.",
  },
  key_refused: {
    en: "The key is disabled; the next key serves.",
    ko: "키가 비활성화되고 다음 키가 처리합니다.",
  },
  account_suspended: {
    en: "The account is suspended: the key is disabled; the next key serves.",
    ko: "계정 정지: 키가 비활성화되고 다음 키가 처리합니다.",
  },
  model_unavailable: {
    en: "The key may not use this model: it rests for that model for an hour; the next key serves.",
    ko: "이 키는 이 모델을 쓸 수 없음: 해당 모델에 대해 한 시간 동안 쉬고 다음 키가 처리합니다.",
  },
  provider_busy: {
    en: "The provider is busy for everybody: the key is not blamed.",
    ko: "제공업체가 모두에게 바쁨: 키의 잘못으로 보지 않습니다.",
  },
  provider_error: {
    en: "The provider's own fault: the key is not blamed.",
    ko: "제공업체 자체 오류: 키의 잘못으로 보지 않습니다.",
  },
  edge_blocked: {
    en: "Blocked in front of the provider: the key is not blamed, a notice says so.",
    ko: "제공업체 앞단에서 차단됨: 키의 잘못으로 보지 않고 알림을 띄웁니다.",
  },
  region_refused: {
    en: "Refused for this region: the key is not blamed, a notice says so.",
    ko: "지역 때문에 거부됨: 키의 잘못으로 보지 않고 알림을 띄웁니다.",
  },
  not_an_api: {
    en: "A web page, not the API: the key is not blamed, a notice says so.",
    ko: "API가 아니라 웹 페이지: 키의 잘못으로 보지 않고 알림을 띄웁니다.",
  },
  content_refused: {
    en: "The content was refused: the client gets the answer, no key is blamed.",
    ko: "내용이 거부됨: 클라이언트가 응답을 그대로 받고 키의 잘못으로 보지 않습니다.",
  },
  object_of_other_key: {
    en: "A stored object of another key: the client gets the answer.",
    ko: "다른 키가 만든 저장 객체: 클라이언트가 응답을 그대로 받습니다.",
  },
  context_too_long: {
    en: "Too long for the model: the client gets the answer.",
    ko: "모델에 비해 너무 김: 클라이언트가 응답을 그대로 받습니다.",
  },
  too_large_for_key: {
    en: "More than this key's allowance can take: one other key is tried.",
    ko: "이 키의 한도로는 처리할 수 없는 크기: 다른 키 하나를 더 시도합니다.",
  },
  model_ambiguous: {
    en: "No such model, or no access: one other key is tried.",
    ko: "모델이 없거나 권한이 없음: 다른 키 하나를 더 시도합니다.",
  },
  model_missing: {
    en: "No such model: the client gets the answer.",
    ko: "모델이 없음: 클라이언트가 응답을 그대로 받습니다.",
  },
  request_refused: {
    en: "The request was refused: the client gets the answer.",
    ko: "요청이 거부됨: 클라이언트가 응답을 그대로 받습니다.",
  },
};

const text = {
  provider: { en: "Provider", ko: "제공업체" },
  kind: { en: "Speaks the API of", ko: "API 종류" },
  address: { en: "Address for clients", ko: "클라이언트 주소" },
  base: { en: "Base URL", ko: "기본 URL" },
  name: { en: "Name in Keywheel", ko: "Keywheel에서의 이름" },
  add: { en: "Add it", ko: "추가하기" },
  use: { en: "Use it", ko: "사용하기" },
  meaning: { en: "What its answers mean", ko: "응답의 의미" },
  answer: { en: "Answer", ko: "응답" },
  follows: { en: "What follows", ko: "처리" },
} satisfies Readonly<Record<string, Words>>;

/** One page for each provider of the catalog. */
export function providerPages(
  language: Language,
): readonly { readonly target: string; readonly title: string; readonly text: string }[] {
  return providerPresets.map((preset) => ({
    target: `providers/${preset.slug}`,
    title: preset.name,
    text: pageOf(preset, language),
  }));
}

/** The table of all of them. */
export function providerTable(language: Language): string {
  const prefix = language === "ko" ? "/ko" : "";
  const rows = providerPresets.map(
    ({ slug, name, kind, baseUrl }) =>
      `| [${name}](${prefix}/providers/${slug}) | \`${slug}\` | \`${kind}\` | \`${baseUrl}\` |`,
  );
  const head = `| ${text.provider[language]} | ${text.name[language]} | ${text.kind[language]} | ${text.base[language]} |`;
  return [head, "| --- | --- | --- | --- |", ...rows].join("\n");
}

function pageOf(preset: ProviderPreset, language: Language): string {
  const { slug, name, kind, baseUrl, answers } = preset;
  const { pathname } = new URL(baseUrl.replace("{resource}", "resource"));
  const version = /\/(v\d\w*)$/.exec(pathname)?.[1];
  const address = `http://127.0.0.1:8787/${slug}`;
  const lines = [
    `# ${name}`,
    "",
    `| ${text.provider[language]} | ${name} |`,
    `| --- | --- |`,
    `| ${text.name[language]} | \`${slug}\` |`,
    `| ${text.kind[language]} | \`${kind}\` |`,
    `| ${text.base[language]} | \`${baseUrl}\` |`,
    `| ${text.address[language]} | \`${address}\`${version === undefined ? "" : `, \`${address}/${version}\``} |`,
    "",
    `## ${text.add[language]}`,
    "",
    ...addingOf(preset, language),
    "",
    `## ${text.use[language]}`,
    "",
    ...usingOf(preset, language),
  ];
  return [...lines, "", `## ${text.meaning[language]}`, "", ...meaningsOf(answers, language), ""].join("\n");
}

function addingOf({ slug, kind }: ProviderPreset, language: Language): readonly string[] {
  const isAzure = kind === "azure-openai";
  const add = isAzure ? `${slug} --base-url https://my-resource.openai.azure.com/openai` : slug;
  const variable = `${slug.toUpperCase()}_KEY_1`;
  const words = {
    en: [
      isAzure
        ? "With the address of your own resource:"
        : "In the settings pages: **Add Provider**, then choose it from the list. Or:",
      `\`keywheel key add ${slug}\` alone asks for a key and does not show it; \`$${variable}\` names a variable of the gateway's.`,
    ],
    ko: [
      isAzure ? "자신의 리소스 주소와 함께:" : "설정 페이지에서 제공업체를 추가하고 목록에서 선택합니다. 또는:",
      `\`keywheel key add ${slug}\`만 입력하면 키를 물어보고 화면에 표시하지 않습니다. \`$${variable}\`는 게이트웨이의 환경 변수 참조입니다.`,
    ],
  }[language];
  const commands = [
    `keywheel provider add ${add}`,
    `keywheel key add ${slug} '$${variable}'`,
    `keywheel key import ${slug} keys.txt`,
  ];
  return [words[0] ?? "", "", "```sh", ...commands, "```", "", words[1] ?? ""];
}

function usingOf({ slug, kind }: ProviderPreset, language: Language): readonly string[] {
  const clients = {
    anthropic: "claude-code",
    gemini: "gemini-cli",
    openai: "codex",
    "azure-openai": undefined,
    "openai-compatible": "openai",
  }[kind];
  if (clients === undefined)
    return [
      {
        en: `Give the Azure OpenAI SDK \`http://127.0.0.1:8787/${slug}\` as its endpoint.`,
        ko: `Azure OpenAI SDK의 endpoint에 \`http://127.0.0.1:8787/${slug}\`를 지정합니다.`,
      }[language],
    ];
  return ["```sh", `keywheel connect ${clients} --provider ${slug}`, "```"];
}

function meaningsOf(answers: readonly RecognisedAnswer[], language: Language): readonly string[] {
  const base = {
    en: "429 and 529: the key rests. 401 and 403: the key is disabled. 402: the key rests for the longest time. All else leaves the key alone. Beyond that:",
    ko: "429와 529는 키의 쿨다운, 401과 403은 키의 비활성화, 402는 가장 긴 쿨다운으로 이어집니다. 그 밖의 응답은 키를 그대로 둡니다. 여기에 더해:",
  }[language];
  if (answers.length === 0) return [base.replace(/ (Beyond that|여기에 더해):$/, "")];
  const rows = answers.map((known) => `| ${signsOf(known, language)} | ${consequences[known.means][language]} |`);
  return [base, "", `| ${text.answer[language]} | ${text.follows[language]} |`, "| --- | --- |", ...rows];
}

function signsOf(known: RecognisedAnswer, language: Language): string {
  const code = (values: readonly string[]): string =>
    values.map((value) => `\`${value.replaceAll("|", "\\|")}\``).join(", ");
  const page = { en: "a web page", ko: "웹 페이지" }[language];
  const parts = [
    known.status === undefined ? [] : [known.status.join(", ")],
    known.code === undefined ? [] : [code(known.code)],
    known.phrase === undefined ? [] : [known.phrase.map((phrase) => `“${phrase.replaceAll("<", "&lt;")}”`).join(", ")],
    known.header === undefined ? [] : [`\`${known.header.join(": ")}\``],
    known.marks === undefined ? [] : [code(known.marks)],
    known.page === undefined ? [] : [page],
  ].flat();
  return parts.join(" · ");
}
