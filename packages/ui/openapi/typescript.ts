/** The part of JSON Schema (2020-12) that the gateway's document uses. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly description?: string;
  readonly readOnly?: boolean;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const head = `// Made from the gateway's own schemas by \`npm run ui:types\`. A test tells when it is out of date.
`;

/**
 * An OpenAPI document as TypeScript: one type a schema, and \`Operations\`, from "GET /api/providers" to what goes in and
 * comes out of that call.
 *
 * The usual generators print through the classic API of the compiler, which TypeScript 7 does not have.
 */
export function toTypeScript(document: object): string {
  const { components, paths } = document as Document;
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `${comment(schema.description)}export type ${name} = ${typeOf(schema)};\n`,
  );
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith("/api/"))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => operationOf(`${method.toUpperCase()} ${path}`, operation)),
    );
  return `${head}\n${schemas.join("\n")}\nexport interface Operations {\n${operations.join("")}}\n`;
}

function operationOf(name: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? [];
  const fields = [
    `params: ${parametersOf(parameters.filter((parameter) => parameter.in === "path"))};`,
    `query: ${parametersOf(parameters.filter((parameter) => parameter.in === "query"))};`,
    `body: ${typeOfContent(requestBody?.content)};`,
    `answer: ${typeOfContent(success?.content)};`,
  ];
  return `${comment(summary)}"${name}": {\n${fields.join("\n")}\n};\n`;
}

function parametersOf(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return "undefined";
  const fields = parameters.map(
    ({ name, required, schema }) => `${quoted(name)}${required ? "" : "?"}: ${typeOf(schema)};`,
  );
  return `{ ${fields.join(" ")} }`;
}

function typeOfContent(content: Content | undefined): string {
  const schema = content?.["application/json"]?.schema;
  return schema === undefined ? "undefined" : typeOf(schema);
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace("#/components/schemas/", "");
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.map(typeOf).join(" | ");
  if (schema.allOf) return schema.allOf.map((part) => `(${typeOf(part)})`).join(" & ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["unknown"]);
  return types.map((type) => typeNamed(type, schema)).join(" | ");
}

function typeNamed(type: string, schema: Schema): string {
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
    case "unknown":
      return type;
    case "array":
      return `(${schema.items ? typeOf(schema.items) : "unknown"})[]`;
    case "object":
      return objectOf(schema);
    default:
      throw new Error(`There is no type here for ${JSON.stringify(schema)}`);
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties)
    // What a write may carry back without effect is nothing to send.
    .filter(([, property]) => property.readOnly !== true)
    .map(
      ([name, property]) =>
        `${comment(property.description)}${quoted(name)}${required.includes(name) ? "" : "?"}: ${typeOf(property)};`,
    );
  if (typeof additionalProperties === "object") {
    const rest = Object.keys(additionalProperties).length === 0 ? "unknown" : typeOf(additionalProperties);
    fields.push(`[name: string]: ${fields.length > 0 ? "unknown" : rest};`);
  }
  return fields.length === 0 ? "Record<string, unknown>" : `{\n${fields.join("\n")}\n}`;
}

function comment(text: string | undefined): string {
  return text === undefined ? "" : `/** ${text.replaceAll("*/", "*\\/")} */\n`;
}

function quoted(name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
}
