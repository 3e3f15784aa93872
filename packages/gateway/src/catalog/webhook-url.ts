import { type BaseUrlOptions, type ParsedBaseUrl, problemOfHost, problemOfText, type Refusal } from "./base-url.ts";
import { trimInvisible } from "./key-text.ts";

/** Where events are sent to: judged as a provider's base URL is, but for the query, which receivers may want. */
export function parseWebhookUrl(raw: string, options: BaseUrlOptions): ParsedBaseUrl {
  const { text } = trimInvisible(raw);
  const problem = problemOfText(text, "URL");
  if (problem !== undefined) return { ok: false, ...problem };
  const url = URL.parse(text);
  if (url === null || url.hostname === "") {
    return { ok: false, code: "no_url", problem: "This is no URL: write it as in https://hooks.example.com/keywheel" };
  }
  const refusal = problemOfUrl(url) ?? problemOfHost(url.hostname, options);
  return refusal === undefined ? { ok: true, url: url.href } : { ok: false, ...refusal };
}

function problemOfUrl(url: URL): Refusal | undefined {
  if (url.username !== "" || url.password !== "") {
    const problem = "There are credentials in the URL: the receiver knows who calls by the signature";
    return { code: "credentials", problem };
  }
  if (url.href.includes("#"))
    return { code: "fragment", problem: "There is a fragment (`#…`) in the URL, which is never sent: leave it out" };
  return url.port === "0" ? { code: "port", problem: "Port 0 cannot be connected to" } : undefined;
}
