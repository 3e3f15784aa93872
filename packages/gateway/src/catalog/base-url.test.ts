import { describe, expect, it } from "vitest";
import { isMetadataHost, parseBaseUrl, sameOrigin } from "./base-url.ts";

function parse(raw: string, allowPrivateMetadata = false): string {
  const parsed = parseBaseUrl(raw, { allowPrivateMetadata });
  return parsed.ok ? parsed.url : `refused: ${parsed.problem}`;
}

describe("a base URL", () => {
  it.each([
    ["https://api.openai.com/v1", "https://api.openai.com/v1"],
    ["https://api.openai.com/v1/", "https://api.openai.com/v1"],
    ["https://api.openai.com/v1///", "https://api.openai.com/v1"],
    ["https://api.openai.com", "https://api.openai.com"],
    ["  HTTPS://API.OpenAI.com:443/v1 \ufeff", "https://api.openai.com/v1"],
    ["http://localhost:11434", "http://localhost:11434"],
    ["http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"],
    ["http://[::1]:8000", "http://[::1]:8000"],
    ["http://192.168.1.20:8000/v1", "http://192.168.1.20:8000/v1"],
    ["https://example.com/a/../b/./c", "https://example.com/b/c"],
    ["https://example.com/a%2Fb", "https://example.com/a%2Fb"],
  ])("is taken: %s", (raw, url) => {
    expect(parse(raw)).toBe(url);
  });

  it.each([
    ["", /empty/],
    ["api.openai.com/v1", /begin with https/],
    ["ftp://example.com", /begin with https/],
    ["file:///etc/passwd", /begin with https/],
    ["javascript:alert(1)", /begin with https/],
    ["https://", /no URL/],
    ["https://a b.com", /white space/],
    ["https://exa\nmple.com", /white space or a line break/],
    ["https://user:pass@example.com", /credentials/],
    ["https://user@example.com", /credentials/],
    ["https://example.com/v1?key=abc", /query/],
    ["https://example.com/v1?", /query/],
    ["https://example.com/v1#x", /fragment/],
    ["https://example.com/v1#", /fragment/],
    ["https://example.com\\evil", /backslash/],
    ["https://{resource}.openai.azure.com/openai", /placeholder/],
    ["http://example.com:0", /Port 0/],
    ["http://example.com:99999", /no URL/],
    ["https://api.openai.com/v1/chat/completions", /leave out \/chat\/completions/],
    [`https://example.com/${"x".repeat(2100)}`, /2048/],
  ])("is refused: %.50s", (raw, problem) => {
    expect(parse(raw)).toMatch(problem);
  });

  it.each([
    "http://169.254.169.254/latest",
    "http://169.254.0.23",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::169.254.169.254]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[fe80::1]/",
    "http://[febf::1]/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/",
    "http://METADATA.google.internal./",
    "http://metadata/",
    "http://100.100.100.200/",
    "http://[::ffff:100.100.100.200]/",
    "http://168.63.129.16/",
  ])("is refused for leading to a metadata address: %s", (raw) => {
    expect(parse(raw)).toMatch(/refused: This is a link-local or cloud metadata address.*--allow-private-metadata/);
  });

  it("may lead there when the operator says so", () => {
    expect(parse("http://169.254.169.254/latest", true)).toBe("http://169.254.169.254/latest");
  });
});

describe("a host that is connected to", () => {
  it.each(["169.254.169.254", "fe80::1%eth0", "[fe80::1]", "::ffff:169.254.1.1"])("is refused: %s", (host) => {
    expect(isMetadataHost(host)).toBe(true);
  });

  it.each(["127.0.0.1", "10.0.0.1", "example.com", "2001:db8::1", "100.100.100.201", "::1"])("passes: %s", (host) => {
    expect(isMetadataHost(host)).toBe(false);
  });
});

describe("the origin of two base URLs", () => {
  it("is the same whatever the path", () => {
    expect(sameOrigin("https://a.com/v1", "https://a.com:443/v2")).toBe(true);
  });

  it.each(["http://a.com/v1", "https://b.com/v1", "https://a.com:8443/v1"])("differs: %s", (other) => {
    expect(sameOrigin("https://a.com/v1", other)).toBe(false);
  });
});
