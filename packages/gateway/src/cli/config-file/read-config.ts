import { isAlias, isMap, isNode, isScalar, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";
import { type ConfigFile, configFileSchema, type ConfigMistake } from "../../contract/config-file.ts";
import { fieldErrorsOf } from "../../contract/field-errors.ts";

/** A file of configuration that was understood, or every mistake in it. */
export type ReadConfig =
  | { readonly ok: true; readonly config: ConfigFile; readonly locate: Locate }
  | { readonly ok: false; readonly mistakes: readonly ConfigMistake[] };

/** Where a field stands, or the nearest thing around it that does. @param path as in `providers.openai.keys.0` */
export type Locate = (path: string) => { readonly line: number; readonly column: number };

/** A file is read whole, and looked at on every change. */
export const maxConfigBytes = 8 * 1_048_576;

/**
 * Understands a `keywheel.yaml` (YAML 1.2, of which JSON is a part; anchors and `<<` too).
 *
 * @returns all mistakes at once, in the order of the file; no message holds a value that may be a secret
 */
export function readConfig(text: string): ReadConfig {
  const lines = new LineCounter();
  // Their pretty errors quote the line, in which a key may stand.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true, version: "1.2" });
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (document.errors.length > 0) {
    const mistakes = document.errors.map(({ pos, message, code }) => ({
      ...at(pos[0]),
      path: "",
      message: wordsOf(code, message),
    }));
    return { ok: false, mistakes };
  }
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  if (isEmpty) return { ok: false, mistakes: [{ ...at(0), path: "", message: emptyFile }] };

  const locate: Locate = (path) => at(offsetOf(contents, path));
  let value: unknown;
  try {
    value = withWholeKeys(document.toJS());
  } catch (error) {
    // The error repeats what stands there.
    const message = error instanceof ReferenceError ? brokenAlias : "The file cannot be read as one object";
    return { ok: false, mistakes: [{ ...at(0), path: "", message }] };
  }
  const checked = configFileSchema.safeParse(value);
  if (checked.success) return { ok: true, config: checked.data, locate };
  const mistakes = fieldErrorsOf(checked.error, value, holdsNoKey).map(({ path, message, code }) => {
    const place = locate(path);
    // A key with a colon behind it is the name of a field.
    if (code === "unknown_field" && !/(^|\.)[A-Za-z_]{1,40}$/.test(path)) {
      return { ...place, path: path.replace(/\.?[^.]*$/, ""), message: "There is no field of this name here" };
    }
    return { ...place, path, message: message.replaceAll("the body", "the file") };
  });
  return { ok: false, mistakes: inOrder(mistakes) };
}

/**
 * A key may have slipped into any place of a file, by a dash or a colon that is missing. What is repeated are numbers that are
 * no keys, and words of which there are a few.
 */
function holdsNoKey(path: string): boolean {
  return /^version$|(^|\.)settings\.|\.(weight|enabled|kind|preset|expires_at|max_[a-z_]+)$/.test(path);
}

const brokenAlias =
  "An alias (`*name`) has no anchor (`&name`) before it, or there are too many. A text that begins with `*` needs quotes";
const emptyFile =
  "The file is empty: write at least `version: 1` and `providers: {}`. An empty file takes nothing away, so that one that is " +
  "cut short does no harm";

/** In the order of the file. */
export function inOrder(mistakes: readonly ConfigMistake[]): ConfigMistake[] {
  return mistakes.toSorted((one, other) => one.line - other.line || one.column - other.column);
}

/** `- $NAME` is a key as well. */
function withWholeKeys(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value["providers"])) return value;
  const providers = Object.entries(value["providers"]).map(([slug, provider]) => {
    // `openai:` with nothing behind it is a provider of which nothing is said.
    if (provider === null) return [slug, {}];
    if (!isRecord(provider) || !Array.isArray(provider["keys"])) return [slug, provider];
    const keys = provider["keys"].map((key: unknown) => (isText(key) ? { api_key: String(key) } : key));
    return [slug, { ...provider, keys }];
  });
  return { ...value, providers: Object.fromEntries(providers) as unknown };
}

/** Without quotes a key of digits alone is a number. */
function isText(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Follows a path as far as it goes. A name may hold dots: the longest one that is there is taken. */
function offsetOf(root: Node, path: string): number {
  let node: Node = root;
  let offset = root.range?.[0] ?? 0;
  let rest = path === "" ? [] : path.split(".");
  while (rest.length > 0) {
    const step = stepInto(node, rest);
    if (step === undefined) return offset;
    offset = step.offset;
    rest = rest.slice(step.taken);
    if (step.value === undefined) return offset;
    node = step.value;
  }
  return offset;
}

interface Step {
  readonly offset: number;
  readonly value: Node | undefined;
  readonly taken: number;
}

function stepInto(node: Node, rest: readonly string[]): Step | undefined {
  // What stands behind an alias stands where its anchor is; the place that uses it is the one to look at.
  if (isAlias(node)) return undefined;
  if (isMap(node)) return stepIntoMap(node, rest);
  const item = "items" in node ? (node.items as readonly unknown[])[Number(rest[0])] : undefined;
  if (!isNode(item)) return undefined;
  return { offset: item.range?.[0] ?? 0, value: item, taken: 1 };
}

function stepIntoMap(map: YAMLMap, rest: readonly string[]): Step | undefined {
  for (let taken = rest.length; taken > 0; taken -= 1) {
    const name = rest.slice(0, taken).join(".");
    const pair = map.items.find(({ key }) => isScalar(key) && String(key.value) === name);
    if (pair === undefined || !isScalar(pair.key)) continue;
    return { offset: pair.key.range?.[0] ?? 0, value: isNode(pair.value) ? pair.value : undefined, taken };
  }
  return undefined;
}

const words: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "This name is there already in the same object",
  TAB_AS_INDENT: "Indent with spaces: YAML takes no tabs",
  BAD_INDENT: "The indentation does not fit what is around it",
  MULTIPLE_DOCS: "There is a second document (`---`): one file is one document",
};

/** Their messages name tokens, not values, except for names that are repeated. */
function wordsOf(code: string, message: string): string {
  return words[code] ?? `This is no YAML: ${message.replace(/\.?$/, "")}`;
}
