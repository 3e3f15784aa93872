import { type CommandError, failed } from "../exit.ts";
import { printable } from "../terminal.ts";
import type { Refusal } from "./api-client.ts";

/** What to do about it, where the control plane's own hint speaks of HTTP. */
const hints: Readonly<Record<string, string | undefined>> = {
  unauthorized: "Set KEYWHEEL_ADMIN_TOKEN to the admin token, which the gateway printed at its first start.",
  unknown_provider: "`keywheel provider list` shows them.",
  not_found: "The `list` of the same command shows what there is.",
  validation_failed: undefined,
};

/** A refusal in sentences, with each field under the name of the flag that sets it. */
export function explain(refusal: Refusal): CommandError {
  const { errors, code = "", detail, message, hint } = refusal;
  const happened = errors.length > 0 ? errors.map(sentenceOf) : [detail ?? message];
  const advice = code in hints ? hints[code] : hint;
  const sentences = [...new Set(happened), ...(advice === undefined ? [] : [advice])];
  return failed(sentences.map((sentence) => finish(printable(sentence))).join("\n"), refusal);
}

/** The name of a field as a flag: `settings.cooldown.base_ms` is `--setting cooldown.base_ms`. */
export function flagOf(path: string): string {
  if (path === "expires_at") return "--expires";
  const setting = /^settings\.(.+)$/.exec(path)?.[1];
  return setting === undefined ? `--${path.replaceAll("_", "-")}` : `--setting ${setting}`;
}

function sentenceOf({ path, message }: { readonly path: string; readonly message: string }): string {
  if (path === "" || path === "api_key") return message;
  const named = message.replaceAll(`\`${path}\``, `\`${flagOf(path)}\``);
  return named === message ? `${flagOf(path)}: ${message}` : named;
}

/** A sentence with its end. */
export function finish(sentence: string): string {
  return /[.!?…:]$/.test(sentence) ? sentence : `${sentence}.`;
}
