import { createPool, providers } from "@keywheel/pool";

/**
 * What the library does for a program, in whatever runtime this is: the first key is limited, the second refused; then a stream,
 * a session, an abort and a snapshot.
 *
 * @param {string} baseURL of a scripted provider
 * @param {readonly string[]} keys
 */
export async function exercise(baseURL, keys) {
  const named = keys.map((apiKey, at) => ({ apiKey, id: String.fromCharCode(65 + at) }));
  /** @type {string[]} */
  const events = [];
  await using pool = createPool({ provider: providers.openai, keys: named, baseURL });
  pool.on("key-cooled", ({ keyId }) => events.push(`${keyId} rests`));
  pool.on("key-disabled", ({ keyId }) => events.push(`${keyId} is out`));
  /** @param {object} more @param {AbortSignal} [signal] */
  const call = (more, signal) =>
    pool.fetch("chat-1")(`${baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello wheel" }], ...more }),
      ...(signal === undefined ? {} : { signal }),
    });

  const completion = /** @type {any} */ (await (await call({})).json());
  const streamed = await (await call({ stream: true })).text();
  const aborted = await call({}, AbortSignal.abort()).then(
    () => "answered",
    (/** @type {unknown} */ error) => (error instanceof Error || error instanceof DOMException ? error.name : "?"),
  );
  const restored = createPool({ provider: providers.openai, keys: named, baseURL });
  await restored.restore(JSON.parse(JSON.stringify(await pool.snapshot())));
  return {
    said: completion.choices[0].message.content,
    pieces: streamed.split("\n\n").filter((block) => block.startsWith("data:")).length,
    isWhole: streamed.includes("[DONE]"),
    aborted,
    events,
    statuses: (await restored.keys()).map(({ status, boundSessions }) => `${status} ${boundSessions}`),
  };
}
