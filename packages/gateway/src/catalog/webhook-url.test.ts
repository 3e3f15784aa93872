import { describe, expect, it } from "vitest";
import { parseWebhookUrl } from "./webhook-url.ts";

const guarded = { allowPrivateMetadata: false };

describe("the URL of a webhook", () => {
  it.each([
    ["https://hooks.example.com/keywheel", "https://hooks.example.com/keywheel"],
    ["  http://127.0.0.1:9000  ", "http://127.0.0.1:9000/"],
    ["https://hooks.example.com/a/?team=1&x=y", "https://hooks.example.com/a/?team=1&x=y"],
    ["https://10.0.0.7/hook", "https://10.0.0.7/hook"],
  ])("takes %s", (text, url) => {
    expect(parseWebhookUrl(text, guarded)).toEqual({ ok: true, url });
  });

  it.each([
    ["", "empty"],
    ["hooks.example.com", "scheme"],
    ["ftp://hooks.example.com", "scheme"],
    ["https://", "no_url"],
    ["https://user:secret@hooks.example.com", "credentials"],
    ["https://hooks.example.com/#here", "fragment"],
    ["https://hooks.example.com:0/", "port"],
    ["https://hooks.example.com/a b", "white_space"],
    ["https://hooks.example.com/{team}", "placeholder"],
    [`https://hooks.example.com/${"a".repeat(2_100)}`, "too_long"],
    ["http://169.254.169.254/latest/meta-data", "metadata_host"],
    ["http://2852039166/", "metadata_host"],
    ["http://[fe80::1]/", "metadata_host"],
    ["http://[::ffff:169.254.169.254]/", "metadata_host"],
    ["http://metadata.google.internal/", "metadata_host"],
  ])("refuses %s: %s", (text, code) => {
    const parsed = parseWebhookUrl(text, guarded);

    expect(parsed).toMatchObject({ ok: false, code });
    expect(JSON.stringify(parsed)).not.toContain("secret");
  });

  it("takes a metadata address where that was asked for", () => {
    expect(parseWebhookUrl("http://169.254.169.254/", { allowPrivateMetadata: true }).ok).toBe(true);
  });
});
