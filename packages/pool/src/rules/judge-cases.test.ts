import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anAnswer } from "../../../testkit/src/provider-answers.ts";
import { type AnswerKind, type AnswerPreset, answerRulesFor } from "../providers/answers/index.ts";
import { judge } from "./judge.ts";
import type { Verdict } from "./verdict.ts";

interface Came {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

function judged(came: Came, kind: AnswerKind = "openai-compatible", preset: AnswerPreset | null = null): Verdict {
  return judge(anAnswer(came), answerRulesFor(kind, preset));
}

/** A verdict in a line: what happens to the key, then to the request. */
function line(verdict: Verdict): string {
  const { key } = verdict;
  const effect = key.kind === "cool" ? `cool ${key.scope} ${key.failure.rest} ${key.reason}` : key.kind;
  return `${effect}; ${verdict.request}`;
}

describe("the base rule", () => {
  it.each([
    [200, "succeeded; give-back"],
    [204, "succeeded; give-back"],
    [101, "succeeded; give-back"],
    [304, "none; give-back"],
    [400, "none; give-back"],
    [401, "disable; next-key"],
    [402, "cool key at-cap quota_exhausted; next-key"],
    [403, "disable; next-key"],
    [404, "none; give-back"],
    [405, "none; give-back"],
    [408, "none; provider-retry"],
    [409, "none; give-back"],
    [413, "none; give-back"],
    [418, "none; give-back"],
    [422, "none; give-back"],
    [429, "cool key ladder rate_limited; next-key"],
    [498, "none; provider-retry"],
    [500, "none; provider-retry"],
    [502, "none; provider-retry"],
    [520, "none; provider-retry"],
    [529, "cool key ladder overloaded; next-key"],
    [0, "none; provider-retry"],
  ])("judges a bare %i", (status, expected) => {
    expect(line(judged({ status }))).toBe(expected);
    expect(line(judged({ status, body: {} }))).toBe(expected);
  });

  it.each([400, 401, 402, 403, 404, 429, 500, 529])("is not moved by an unheard-of code under %i", (status) => {
    const body = { error: { message: "unheard of", code: "never_seen", type: "nor_this" } };

    expect(line(judged({ status, body }))).toBe(line(judged({ status })));
  });
});

describe("case 11: a bare 429", () => {
  it("cools by the ladder and states no wait, whatever x-should-retry says", () => {
    const verdict = judged({
      status: 429,
      headers: { "x-should-retry": "true" },
      body: { error: { message: "Slow" } },
    });

    expect(line(verdict)).toBe("cool key ladder rate_limited; next-key");
    expect(verdict.statedWaitMs).toBeUndefined();
  });
});

describe("case 12: a 429 that states no wait", () => {
  it.each([
    ["openai", { error: { message: "m", code: null, type: "requests" } }],
    ["anthropic", { type: "error", error: { type: "rate_limit_error", message: "m" } }],
    ["gemini", { error: { code: 429, message: "m", status: "RESOURCE_EXHAUSTED" } }],
    ["azure-openai", { error: { code: "429", message: "m" } }],
    ["openai-compatible", { message: "m" }],
  ] as const)("is followed by another key for the kind %s", (kind, body) => {
    expect(line(judged({ status: 429, body }, kind))).toBe("cool key ladder rate_limited; next-key");
  });
});

describe("case 13: billing told as a rate limit", () => {
  it.each(["insufficient_quota", "credit_balance_exhausted", "project_spend_limit_exceeded", "billing_not_active"])(
    "rests a key at the cap for %s, whether in code or type",
    (word) => {
      const expected = "cool key at-cap quota_exhausted; next-key";

      expect(line(judged({ status: 429, body: { error: { code: word } } }, "openai"))).toBe(expected);
      expect(line(judged({ status: 429, body: { error: { code: null, type: word } } }, "openai"))).toBe(expected);
    },
  );

  it("ignores the wait that comes with it", () => {
    const verdict = judged(
      { status: 429, headers: { "retry-after": "5" }, body: { error: { code: "insufficient_quota" } } },
      "openai",
    );

    expect(verdict.statedWaitMs).toBeUndefined();
  });

  it("is not prose that speaks of quota, nor a code that only looks like one", () => {
    const prose = { error: { message: "You exceeded your current quota, insufficient_quota", code: "quota" } };

    expect(line(judged({ status: 429, body: prose }, "openai"))).toBe("cool key ladder rate_limited; next-key");
  });

  it("is not assumed of another provider that uses the same word", () => {
    const answer = { status: 429, body: { error: { code: "insufficient_quota", message: "allocated" } } };

    expect(line(judged(answer, "openai-compatible", "dashscope"))).toBe("cool model ladder rate_limited; next-key");
    expect(line(judged(answer, "openai", "dashscope"))).toBe("cool model ladder rate_limited; next-key");
    expect(line(judged(answer))).toBe("cool key ladder rate_limited; next-key");
  });
});

describe("case 14: out of credit, told by a header", () => {
  it("rests the key at the cap, though x-should-retry says otherwise", () => {
    const headers = {
      "anthropic-ratelimit-unified-overage-disabled-reason": "out_of_credits",
      "x-should-retry": "true",
    };

    expect(line(judged({ status: 429, headers }, "anthropic"))).toBe("cool key at-cap quota_exhausted; next-key");
  });
});

describe("case 16: 402, and billing under other statuses", () => {
  it("rests at the cap for a 402 whatever its body", () => {
    expect(line(judged({ status: 402, body: "Payment Required" }))).toBe("cool key at-cap quota_exhausted; next-key");
  });

  it("is a plain cooldown when a 402 says when to come back", () => {
    const verdict = judged({ status: 402, headers: { "retry-after": "90" } });

    expect(verdict.key).toMatchObject({ kind: "cool", failure: { rest: "ladder", hintMs: 90_000 } });
  });

  it("takes nonsense in retry-after for no date", () => {
    expect(line(judged({ status: 402, headers: { "retry-after": "-1" } }))).toBe(
      "cool key at-cap quota_exhausted; next-key",
    );
  });

  it("knows Anthropic's 400 by its exact form alone", () => {
    const body = { error: { type: "invalid_request_error", message: "Your credit balance is too low" } };

    expect(line(judged({ status: 400, body }, "anthropic"))).toBe("cool key at-cap quota_exhausted; next-key");
    expect(line(judged({ status: 400, body }))).toBe("none; give-back");
  });
});

describe("case 17: Gemini reports a bad key as 400", () => {
  const invalidKey = { error: { code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } };

  it("is a refused key", () => {
    expect(line(judged({ status: 400, body: invalidKey }, "gemini"))).toBe("disable; next-key");
    expect(line(judged({ status: 400, body: [invalidKey] }, "gemini"))).toBe("disable; next-key");
  });

  it("is none without the reason", () => {
    const body = { error: { code: 400, status: "INVALID_ARGUMENT", message: "API key not valid" } };

    expect(line(judged({ status: 400, body }, "gemini"))).toBe("none; give-back");
  });
});

describe("case 18: a 400 is the request's unless it says otherwise", () => {
  it.each(["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"] as const)(
    "for the kind %s",
    (kind) => {
      const body = { error: { type: "invalid_request_error", message: "Invalid value for `temperature`" } };

      for (const status of [400, 404, 405, 409, 413, 415, 422]) {
        expect(line(judged({ status, body }, kind))).toBe("none; give-back");
      }
    },
  );
});

describe("case 19: a wrong path", () => {
  it("never touches the key", () => {
    expect(line(judged({ status: 404, body: "404 page not found" }))).toBe("none; give-back");
    expect(line(judged({ status: 404, headers: { "content-type": "text/html" }, body: "<html>" }))).toBe(
      "none; give-back",
    );
  });
});

describe("case 20: an error in the body of a 200", () => {
  it.each([
    [429, "cool key ladder rate_limited; next-key"],
    [402, "cool key at-cap quota_exhausted; next-key"],
    [401, "disable; next-key"],
    [502, "none; provider-retry"],
    [400, "none; give-back"],
  ])("is judged as the %i that it carries", (code, expected) => {
    const verdict = judged({ status: 200, body: { error: { code, message: "m" }, choices: null } });

    expect(line(verdict)).toBe(expected);
    expect(verdict.httpStatus).toBe(code);
  });

  it.each([
    ["a whole answer of chat beside it", { object: "chat.completion", choices: [{}], error: { code: 429 } }],
    ["an answer beside it", { choices: [{ message: { content: "x" } }], error: { code: 429 } }],
    [
      "a failed response that was asked for",
      { object: "response", output: [], error: { code: "rate_limit_exceeded" } },
    ],
    ["a failed run that was asked for", { object: "thread.run", last_error: { code: "rate_limit_exceeded" } }],
    ["a failed operation that was asked for", { name: "operations/1", done: true, error: { code: 7 } }],
    ["a failed job that was asked for", { id: "job-1", status: "failed", error: { code: 401 } }],
    ["a line of a batch's results", { id: "batch_req_1", custom_id: "r-1", response: null, error: { code: 429 } }],
    ["no error in it", { object: "response", error: null }],
    ["an empty error", { error: {} }],
    ["an error that a model wrote", { choices: [{ message: { content: '{"error":{"code":401}}' } }] }],
  ])("is none with %s", (_, body) => {
    expect(line(judged({ status: 200, body }))).toBe("succeeded; give-back");
  });

  it("is one beside an empty answer", () => {
    expect(line(judged({ status: 200, body: { choices: [], error: { code: 401 } } }))).toBe("disable; next-key");
  });

  it("is the provider's own when it has no code", () => {
    const flat = { type: "error", code: null, message: "An error occurred", sequence_number: 2 };
    const failed = { type: "response.failed", response: { error: { message: "An error occurred" } } };

    expect(line(judged({ status: 200, body: flat }))).toBe("none; provider-retry");
    expect(line(judged({ status: 200, body: failed }))).toBe("none; provider-retry");
    expect(line(judged({ status: 200, body: { error: "model runner has stopped" } }))).toBe("none; provider-retry");
  });

  it("blames nobody for a code that is not known", () => {
    expect(line(judged({ status: 200, body: { error: { type: "new_kind_of_error" } } }))).toBe("none; give-back");
  });
});

describe("case 21: a bot wall", () => {
  const page = "<!DOCTYPE html><title>Just a moment...</title>";
  it.each([
    ["401", { status: 401, headers: { "content-type": "text/html" }, body: page }],
    ["403", { status: 403, headers: { "content-type": "text/html" }, body: "Just a moment…" }],
    ["403 by its body alone", { status: 403, body: page }],
    ["403 by its header alone", { status: 403, headers: { "cf-mitigated": "challenge" } }],
    ["429", { status: 429, headers: { "content-type": "text/html" }, body: page }],
    ["503 with a challenge", { status: 503, headers: { "cf-mitigated": "challenge" }, body: page }],
  ])("blames no key, tries no other and says so: %s", (_, came) => {
    const verdict = judged(came, "openai");

    expect(line(verdict)).toBe("none; give-back");
    expect(verdict.notice).toBe("edge_block");
  });

  it("is not a bad key that is told by a page where that is known", () => {
    const body = "<html><head><title>401 Authorization Required</title></head></html>";
    const came = { status: 401, headers: { "content-type": "text/html" }, body };

    expect(line(judged(came, "openai-compatible", "perplexity"))).toBe("disable; next-key");
    expect(line(judged(came))).toBe("none; give-back");
  });

  it("is a page of the provider's under 5xx", () => {
    expect(line(judged({ status: 502, body: "<html>" }))).toBe("none; provider-retry");
  });
});

describe("case 22: the region", () => {
  it.each([
    [
      "OpenAI",
      "openai",
      { status: 403, body: { error: { code: "unsupported_country_region_territory", type: "request_forbidden" } } },
    ],
    [
      "anyone with OpenAI's code",
      "openai-compatible",
      { status: 403, body: { error: { code: "unsupported_country_region_territory" } } },
    ],
    [
      "Gemini",
      "gemini",
      {
        status: 400,
        body: { error: { status: "FAILED_PRECONDITION", message: "User location is not supported for the API use." } },
      },
    ],
  ] as const)("blames no key and is told as a notice: %s", (_, kind, came) => {
    const verdict = judged(came, kind);

    expect(line(verdict)).toBe("none; give-back");
    expect(verdict.notice).toBe("region_refused");
  });
});

describe("case 24: three kinds of 403", () => {
  it("rests the key for a model that it lacks, and tries another", () => {
    const body = { error: { type: "permission_error", message: "… permission to use model: claude-x" } };

    const verdict = judged({ status: 403, body }, "anthropic");

    expect(verdict).toMatchObject({ key: { kind: "rest-model", restMs: 3_600_000 }, request: "next-key" });
  });

  it("gives back a refusal of the content", () => {
    const body = { error: { code: 403, message: "flagged", metadata: { reasons: ["violence"] } } };

    expect(line(judged({ status: 403, body }, "openai-compatible", "openrouter"))).toBe("none; give-back");
  });

  it("disables for anything else", () => {
    expect(line(judged({ status: 403, body: { error: { message: "no" } } }, "anthropic"))).toBe("disable; next-key");
  });
});

describe("what a verdict tells", () => {
  it("quotes the provider, 500 characters at most", () => {
    expect(judged({ status: 400, body: { error: { message: "m".repeat(900) } } }).message).toHaveLength(500);
    expect(judged({ status: 400 }).message).toBeUndefined();
  });

  it("names the wait of a busy provider, though no key rests", () => {
    const body = { error: { availability: { code: "capacity_exhausted", retry_after: 40 } } };

    const verdict = judged({ status: 429, body }, "openai-compatible", "openrouter");

    expect(verdict).toMatchObject({ key: { kind: "none" }, code: "provider_busy", statedWaitMs: 40_000 });
  });
});

describe("any answer", () => {
  const presets = ["openai", "anthropic", "gemini", "openrouter", "zhipu", "dashscope", "xai", null] as const;
  const kinds = ["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"] as const;
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.jsonValue().map((value) => JSON.stringify({ error: value })),
  );

  it("gets a verdict", () => {
    const status = fc.oneof(fc.integer(), fc.constantFrom(0, 200, 400, 401, 402, 403, 404, 429, 500, 529));
    const headers = fc.dictionary(fc.constantFrom("content-type", "retry-after", "date", "cf-mitigated"), fc.string());
    fc.assert(
      fc.property(status, headers, text, fc.constantFrom(...kinds), fc.constantFrom(...presets), (...came) => {
        const [status, headers, body, kind, preset] = came;

        expect(line(judged({ status, headers, body }, kind, preset))).toMatch(/^(?:none|succeeded|cool|disable|rest)/);
      }),
    );
  });

  it("that is not known disables nothing but on 401 and 403", () => {
    const status = fc.integer({ min: 300, max: 599 }).filter((status) => status !== 401 && status !== 403);
    fc.assert(
      fc.property(status, text, fc.constantFrom(...kinds), (status, body, kind) => {
        expect(judged({ status, body }, kind).key.kind).not.toBe("disable");
      }),
    );
  });

  it.each([
    ["deep brackets", "[".repeat(65_536)],
    ["deep errors", '{"error":'.repeat(7_281)],
    [
      "many codes",
      JSON.stringify({ error: { details: Array.from({ length: 3_000 }, (_, i) => ({ reason: `r${i}` })) } }),
    ],
    ["long prose", JSON.stringify({ error: { message: "try again in ".repeat(5_000) } })],
    ["spaces", " ".repeat(65_536)],
  ])("is judged at once: %s", (_, body) => {
    const started = performance.now();

    for (const status of [200, 400, 429]) judged({ status, body }, "anthropic", "zhipu");

    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
