import { redacted } from "@keywheel/pool";
import { SecretIndex, type Span } from "./secret-index.ts";

export { redacted } from "@keywheel/pool";

/** What `redactAgain` remembers at the most, and of texts up to which length. */
const mostRemembered = 1_000;
const longestRemembered = 512;

/** Shorter values than this cannot be told from words and are left alone. */
const shortestValue = 6;
/** From here on a value is looked for anywhere; a shorter one only where it stands alone. */
const shortestPattern = 8;

/** A look that credentials have; the first group stays. */
interface Shape {
  /** Every text of this shape has it: finding that out is quicker than the pattern. */
  readonly mark: string;
  readonly pattern: RegExp;
}

/**
 * What looks like a credential whoever it belongs to. Each begins with literal characters and repeats one class, so that
 * the time stays linear. None takes a quote or a backslash: a line of JSON stays JSON.
 */
const shapes: readonly Shape[] = [
  // Vendors' prefixes, ours among them (kw_, kwa_, kwl_), and those of code hosts and chat services.
  { mark: "-", pattern: prefixed("sk|pk|rk|xai|nvapi|csk|pplx|glpat|xox[abp]", "-") },
  { mark: "_", pattern: prefixed("sk|pk|rk|fw|gsk|tgp|kw[al]?|hf|ghp|gho|ghs", "_") },
  { mark: "AIza", pattern: /(\b|%[0-9A-Fa-f]{2})AIza[\w-]{20,}/g },
  { mark: "AQ.", pattern: /(\b|%[0-9A-Fa-f]{2})AQ\.[\w-]{20,}/g },
  // A JSON web token.
  { mark: "eyJ", pattern: /(\b|%[0-9A-Fa-f]{2})eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g },
  { mark: "earer", pattern: /\b([Bb]earer\s+)[\w.~+/=-]{8,}/g },
  { mark: "EARER", pattern: /\b(BEARER\s+)[\w.~+/=-]{8,}/g },
  { mark: "asic", pattern: /\b([Bb]asic\s+)[\w.~+/=-]{8,}/g },
  { mark: "=", pattern: /([?&](?:key|api[-_]?key|token|access_token|code)=)[^&\s"'\\#<>]+/g },
  { mark: "openai-insecure-api-key.", pattern: /(openai-insecure-api-key\.)[\w.-]{8,}/g },
  // The password in an address.
  { mark: "://", pattern: /(:\/\/[^\s:@/"'\\]{0,100}:)[^\s@/"'\\]{1,200}(?=@)/g },
];

function prefixed(prefixes: string, separator: string): RegExp {
  // A word begins behind an escape of a URL as well (`%20sk-…`).
  return new RegExp(`(\\b|%[0-9A-Fa-f]{2})(?:${prefixes})${separator}[A-Za-z0-9][\\w-]{14,}`, "g");
}

const loneWord = /[^\s"'`\\,:;=&?()[\]{}<>]+/g;

/**
 * The one redactor: takes every secret that it knows, and what looks like one, out of a text.
 *
 * Known are all values it was ever told, those of keys that were deleted since included: they may still be valid at the
 * provider, and a running response may still quote them.
 */
export class Redactor {
  readonly #index = new SecretIndex();
  readonly #words = new Set<string>();
  readonly #remembered = new Map<string, string>();

  /** Hides these values from now on, in plain, URL-encoded, JSON and base64 form. Cheap for values that are known. */
  learn(values: Iterable<string | { reveal(): string }>): void {
    for (const value of values) this.#learnOne(typeof value === "string" ? value : value.reveal());
  }

  /** The text without secrets. Safe to apply twice. Bound to its object, so that it can be handed on alone. */
  readonly redact = (text: string): string => {
    let result = cut(text, this.#index.find(text));
    if (this.#words.size > 0) result = result.replace(loneWord, (word) => (this.#words.has(word) ? redacted : word));
    for (const { mark, pattern } of shapes) {
      if (result.includes(mark)) result = result.replace(pattern, `$1${redacted}`);
    }
    return result;
  };

  /** The same for texts that are likely to come again, as paths of requests are. */
  readonly redactAgain = (text: string): string => {
    const known = this.#remembered.get(text);
    if (known !== undefined) return known;
    const result = this.redact(text);
    if (text.length > longestRemembered) return result;
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear();
    this.#remembered.set(text, result);
    return result;
  };

  /** The text without the values that are known, long enough to be told from words, and their forms; all else as it is. */
  readonly redactKnown = (text: string): string => cut(text, this.#index.find(text));

  #learnOne(value: string): void {
    if (value.length >= shortestPattern) {
      if (!this.#index.add(value)) return;
      for (const form of formsOf(value)) this.#index.add(form);
    } else if (value.length >= shortestValue && /[^A-Za-z]/.test(value)) this.#words.add(value);
    this.#remembered.clear();
  }
}

/** The other shapes in which a value may be met. */
function formsOf(value: string): string[] {
  const percent = encodeURIComponent(value);
  const lowerPercent = percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const json = JSON.stringify(value).slice(1, -1);
  const base64 = [0, 1, 2].map((before) => base64Core(value, before));
  const base64Url = base64.map((core) => core.replaceAll("+", "-").replaceAll("/", "_"));
  return [percent, lowerPercent, json, ...base64, ...base64Url].filter((form) => form.length >= shortestPattern);
}

/**
 * The base64 digits that depend on the value alone when `before` bytes stand before it: three bytes become four digits,
 * so there are three ways for a value to lie (`Basic` credentials have a user name in front).
 */
function base64Core(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const first = Math.ceil((before * 8) / 6);
  const last = Math.floor((bytes.length * 8) / 6);
  return bytes.toString("base64").slice(first, last);
}

function cut(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let result = "";
  let done = 0;
  for (const [start, end] of spans) {
    result += text.slice(done, start) + redacted;
    done = end;
  }
  return result + text.slice(done);
}
