import { openApiDocument } from "../../packages/ui/openapi/document.ts";
import type { Language } from "./pages.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly example?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly security?: readonly unknown[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Call extends Operation {
  readonly method: string;
  readonly path: string;
}

const words = {
  parameter: { en: "Parameter", ko: "매개변수" },
  field: { en: "Field", ko: "필드" },
  type: { en: "Type", ko: "유형" },
  description: { en: "Description", ko: "설명" },
  required: { en: "required", ko: "필수" },
  body: { en: "Body", ko: "본문" },
  answers: { en: "Answer", ko: "응답" },
  call: { en: "Call", ko: "호출" },
  objects: { en: "Objects", ko: "객체" },
  open: { en: "Needs no admin token.", ko: "관리자 토큰이 필요하지 않습니다." },
} as const;

const titles: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  providers: { en: "Providers", ko: "제공업체" },
  keys: { en: "Keys", ko: "키" },
  tokens: { en: "Gateway tokens", ko: "게이트웨이 토큰" },
  sessions: { en: "Sessions", ko: "세션" },
  webhooks: { en: "Webhooks", ko: "웹훅" },
  "configuration file": { en: "Configuration file", ko: "설정 파일" },
  activity: { en: "Activity and usage", ko: "활동과 사용량" },
  transfer: { en: "Export and import", ko: "내보내기와 가져오기" },
  gateway: { en: "Gateway", ko: "게이트웨이" },
  "sign-in": { en: "Sign-in", ko: "로그인" },
};

const document = openApiDocument() as Document;
const calls: readonly Call[] = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);
const tags = [...new Set(calls.flatMap((call) => call.tags ?? []))];

/** The API's reference: a page for each subject, and one for the objects. */
export function apiPages(
  language: Language,
): readonly { readonly target: string; readonly title: string; readonly text: string }[] {
  const subjects = tags.map((tag) => ({
    target: `api-reference/${fileOf(tag)}`,
    title: titles[tag]?.[language] ?? tag,
    text: [
      `# ${titles[tag]?.[language] ?? tag}`,
      ...calls.filter((call) => call.tags?.includes(tag)).map((call) => sectionOf(call, language)),
    ].join("\n\n"),
  }));
  return [
    ...subjects,
    { target: "api-reference/objects", title: words.objects[language], text: objectsPage(language) },
  ];
}

/** All calls, each with a link to where it is described. */
export function apiTable(language: Language): string {
  const prefix = language === "ko" ? "/ko" : "";
  const rows = calls.map((call) => {
    const page = `${prefix}/api-reference/${fileOf(call.tags?.[0] ?? "")}`;
    return `| [\`${call.method} ${call.path}\`](${page}#${anchorOf(call)}) | ${call.summary ?? ""} |`;
  });
  return [`| ${words.call[language]} | ${words.description[language]} |`, "| --- | --- |", ...rows].join("\n");
}

function fileOf(tag: string): string {
  return tag.replaceAll(" ", "-");
}

function anchorOf({ method, path }: Call): string {
  return `${method}${path}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/-$/, "");
}

function sectionOf(call: Call, language: Language): string {
  const parts = [`## \`${call.method} ${call.path}\` {#${anchorOf(call)}}`, call.summary ?? ""];
  if (call.description !== undefined) parts.push(call.description);
  if (call.security === undefined || call.security.length === 0) parts.push(words.open[language]);
  const parameters = call.parameters ?? [];
  if (parameters.length > 0) {
    const rows = parameters.map(({ name, in: place, required = false, description, schema }) =>
      row([
        `\`${name}\` (${place})${required ? `, ${words.required[language]}` : ""}`,
        typeOf(schema, language),
        description ?? schema.description,
      ]),
    );
    parts.push([heading(words.parameter[language], language), ...rows].join("\n"));
  }
  const body = schemaOf(call.requestBody?.content);
  if (body !== undefined)
    parts.push(`**${words.body[language]}**: ${typeOf(body, language)}`, fieldsOf(body, language));
  const answers = Object.entries(call.responses).map(([status, { description, content }]) => {
    const schema = schemaOf(content);
    return row([status, description, schema === undefined ? "" : typeOf(schema, language)]);
  });
  parts.push(
    [
      `| ${words.answers[language]} | ${words.description[language]} | ${words.type[language]} |`,
      "| --- | --- | --- |",
      ...answers,
    ].join("\n"),
  );
  return parts.filter((part) => part !== "").join("\n\n");
}

function objectsPage(language: Language): string {
  const objects = Object.entries(document.components.schemas).map(([name, schema]) =>
    [
      `## ${name} {#${name.toLowerCase()}}`,
      schema.description ?? "",
      fieldsOf(schema, language) || typeOf(schema, language),
    ]
      .filter((part) => part !== "")
      .join("\n\n"),
  );
  return [`# ${words.objects[language]}`, ...objects].join("\n\n");
}

function schemaOf(content: Content | undefined): Schema | undefined {
  return Object.values(content ?? {})[0]?.schema;
}

function fieldsOf(schema: Schema, language: Language): string {
  const { properties, required = [] } = schema;
  if (properties === undefined || Object.keys(properties).length === 0) return "";
  const rows = Object.entries(properties).map(([name, field]) =>
    row([
      `\`${name}\`${required.includes(name) ? "" : " ?"}`,
      typeOf(field, language),
      [field.description, limitsOf(field)].filter((part) => part !== undefined && part !== "").join(" "),
    ]),
  );
  return [heading(words.field[language], language), ...rows].join("\n");
}

function heading(first: string, language: Language): string {
  return `| ${first} | ${words.type[language]} | ${words.description[language]} |\n| --- | --- | --- |`;
}

function limitsOf({ minimum, maximum, default: initial }: Schema): string {
  const range = minimum === undefined && maximum === undefined ? [] : [`${minimum ?? ""} … ${maximum ?? ""}`.trim()];
  const standard = initial === undefined ? [] : [`= \`${JSON.stringify(initial)}\``];
  return [...range, ...standard].join(", ");
}

function typeOf(schema: Schema, language: Language): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `[${name}](${language === "ko" ? "/ko" : ""}/api-reference/objects#${name.toLowerCase()})`;
  }
  const members = schema.anyOf ?? schema.oneOf;
  if (members !== undefined) return members.map((member) => typeOf(member, language)).join(" or ");
  if (schema.allOf !== undefined) return schema.allOf.map((member) => typeOf(member, language)).join(" and ");
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(" ");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.type === "array")
    return `list of ${schema.items === undefined ? "anything" : typeOf(schema.items, language)}`;
  const data = schema.properties?.["data"];
  if (data !== undefined && Object.keys(schema.properties ?? {}).length === 1)
    return `\`data\`: ${typeOf(data, language)}`;
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : String(schema.type ?? "anything");
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

function row(cells: readonly (string | undefined)[]): string {
  return `| ${cells.map((cell) => safe(cell ?? "")).join(" | ")} |`;
}

/** Neither a table nor Vue may take words of a description for its own. */
function safe(text: string): string {
  return text
    .replaceAll("\n", " ")
    .split(/(`[^`]*`)/)
    .map((piece, at) =>
      at % 2 === 1
        ? piece.replaceAll("|", "\\|")
        : piece.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;"),
    )
    .join("");
}
