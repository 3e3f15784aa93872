import {
  openAiError,
  reply,
  runGateway,
  type RunningGateway,
  type ScriptedProvider,
  startScriptedProvider,
} from "@keywheel/testkit";

export interface Demo extends AsyncDisposable {
  readonly gateway: RunningGateway;
}

/** A gateway as it looks after an hour of work in a small team: some keys rest, one was refused. */
export async function runDemo(): Promise<Demo> {
  const gateway = await runGateway({ env: { TEAM_KEY: "sk-test-demo-env-0123456789abcdef" } });
  const openAiKeys = ["ada", "grace", "edsger", "barbara"].map((name) => `sk-test-demo-0123456789-${name}`);
  const anthropicKeys = ["research", "product"].map((name) => `sk-ant-test-demo-0123456789-${name}`);
  const openAi = await startScriptedProvider({
    kind: "openai",
    keys: [...openAiKeys, "sk-test-demo-env-0123456789abcdef"],
  });
  const anthropic = await startScriptedProvider({ kind: "anthropic", keys: anthropicKeys });
  const gemini = await startScriptedProvider({ kind: "gemini", keys: ["AIzaTest-demo-0123456789"] });

  const team = await gateway.addProvider({ kind: "openai", slug: "openai", name: "OpenAI", baseUrl: openAi.baseUrl });
  const claude = await gateway.addProvider({
    kind: "anthropic",
    slug: "anthropic",
    name: "Anthropic",
    baseUrl: anthropic.baseUrl,
  });
  const google = await gateway.addProvider({ kind: "gemini", slug: "gemini", name: "Gemini", baseUrl: gemini.baseUrl });
  const labels = ["Ada", "Grace", "Edsger", "Barbara"];
  await gateway.addKeys(team, [
    ...openAiKeys.map((key, at) => ({ api_key: key, label: labels[at] ?? "", weight: [4, 3, 2, 1][at] ?? 1 })),
    { api_key: "$TEAM_KEY", label: "Shared", weight: 1 },
  ]);
  await gateway.addKeys(
    claude,
    anthropicKeys.map((key, at) => ({ api_key: key, label: ["Research", "Product"][at] ?? "" })),
  );
  await gateway.addKeys(google, [{ api_key: "AIzaTest-demo-0123456789", label: "Free tier" }]);
  await gateway.api("POST", "/tokens", { name: "Ada's laptop" });

  await work(gateway, { openAi, anthropic });
  return {
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      for (const provider of [openAi, anthropic, gemini]) await provider.close();
    },
  };
}

async function work(
  gateway: RunningGateway,
  { openAi, anthropic }: { readonly openAi: ScriptedProvider; readonly anthropic: ScriptedProvider },
): Promise<void> {
  const limited = openAiError(429, {
    message: "Rate limit reached for gpt-5 in organization org-demo on requests per min (RPM): Limit 500, Used 500.",
    type: "requests",
    code: "rate_limit_exceeded",
  });
  const refused = openAiError(401, {
    message: "Incorrect API key provided.",
    type: "invalid_request_error",
    code: "invalid_api_key",
  });
  const version = { "anthropic-version": "2023-06-01" };
  const ask = async (path: string, body: object, session: string): Promise<void> => {
    const headers = { "content-type": "application/json", "x-keywheel-session": session, ...version };
    await (await fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })).arrayBuffer();
  };
  const messages = [{ role: "user", content: "How does a wheel of keys turn?" }];
  for (let round = 0; round < 60; round++) {
    if (round === 22) openAi.forKey("sk-test-demo-0123456789-grace").next(limited);
    if (round === 37) openAi.forKey("sk-test-demo-0123456789-barbara").always(refused);
    if (round === 44)
      anthropic
        .on()
        .next(reply.json(500, {}, { type: "error", error: { type: "api_error", message: "Internal server error" } }));
    await ask(
      "/openai/v1/chat/completions",
      { model: "gpt-5", messages, stream: round % 3 === 0 },
      `chat-${round % 17}`,
    );
    if (round % 2 === 0)
      await ask(
        "/anthropic/v1/messages",
        { model: "claude-sonnet-5-5", max_tokens: 64, messages },
        `agent-${round % 5}`,
      );
  }
}
