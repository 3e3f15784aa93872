import { runGateway, type RunningGateway } from "@keywheel/testkit";
import { eventually } from "../pooled-provider.ts";
import {
  markHeader,
  type RudeProvider,
  startRudeProvider,
  startStrictProvider,
  type StrictProvider,
} from "./raw-provider.ts";
import { converse, type RawMessage } from "./raw-socket.ts";

/** How many connections a batch has at once at most; long runs take larger ones, to get on. */
export const batchSize = Number(process.env["KEYWHEEL_FUZZ_BATCH"] ?? 48);
/** A call may be refused by one after the other, each as slowly as it is let. */
const rudeKeys = 96;
/** The pool keeps idle connections to its provider; the process some files of its own. */
const filesBeyondBatch = 80;
/** Far above what a batch takes, far below what a leak of a long run would. */
const mostMemoryBytes = 700_000_000;
/** Longer than every time-out that the rude provider's settings allow together. */
const answeredWithinMs = 15_000;
const strictKey = "sk-test-fuzz-0123456789abcdef";

/** A gateway under fire, and what must hold of it at any time. */
export interface FuzzBench extends AsyncDisposable {
  /** Says all of this to the gateway at once. @throws Error if anything that must hold does not */
  toGateway(batch: readonly RawMessage[]): Promise<void>;
  /** Has the provider answer as many calls so. @throws Error if anything that must hold does not */
  fromProvider(batch: readonly RawMessage[]): Promise<void>;
}

export async function openFuzzBench(): Promise<FuzzBench> {
  const gateway = await runGateway({ flags: ["--log-level", "error"] });
  const [rude, strict] = [await startRudeProvider(), await startStrictProvider(strictKey)];
  const bench = new Bench(gateway, rude, strict);
  await bench.prepare();
  return bench;
}

class Bench implements FuzzBench {
  readonly #gateway: RunningGateway;
  readonly #rude: RudeProvider;
  readonly #strict: StrictProvider;
  #files = 0;
  #marks = 0;

  constructor(gateway: RunningGateway, rude: RudeProvider, strict: StrictProvider) {
    this.#gateway = gateway;
    this.#rude = rude;
    this.#strict = strict;
  }

  async prepare(): Promise<void> {
    const at = ({ port }: { readonly port: number }): string => `http://127.0.0.1:${port}/v1`;
    const strict = await this.#gateway.addProvider({ slug: "fuzz", baseUrl: at(this.#strict) });
    await this.#gateway.addKeys(strict, [strictKey]);
    await this.#gateway.addProvider({ slug: "other", baseUrl: at(this.#strict) });
    const timeouts = { connect_ms: 2_000, headers_ms: 1_000, idle_ms: 1_000 };
    const rude = await this.#gateway.addProvider({
      slug: "rude",
      baseUrl: at(this.#rude),
      settings: { timeouts, cooldown: { base_ms: 100, cap_ms: 100 } },
    });
    const text = Array.from({ length: rudeKeys }, (_, number) => `sk-test-rude-${1_000_000_000 + number}`);
    await this.#gateway.api("POST", `/providers/${rude.id}/keys/import`, { text: text.join("\n") });
    this.#files = (await this.#figures()).files;
  }

  async toGateway(batch: readonly RawMessage[]): Promise<void> {
    const { port } = new URL(this.#gateway.url);
    const talks = await Promise.all(batch.map((message) => converse(Number(port), message)));
    for (const { heard } of talks) {
      if (heard !== "" && !heard.startsWith("HTTP/1.1 "))
        throw new Error(`This is no answer: ${JSON.stringify(heard)}`);
    }
    await this.#holds();
  }

  async fromProvider(batch: readonly RawMessage[]): Promise<void> {
    await Promise.all(batch.map((answer, at) => this.#callWith(at % 4 === 3 ? undefined : answer)));
    await this.#holds();
    this.#rude.forget();
    const bulk = (body: object): Promise<unknown> => this.#gateway.api("POST", "/providers/rude/keys/bulk", body);
    await bulk({ action: "reset", where: { status: "cooling_down" } });
    await bulk({ action: "enable", where: { status: "disabled" } });
  }

  /** One call, and its own answer: without a script it is a good one, and must not be mixed up with any other. */
  async #callWith(answer: RawMessage | undefined, triesLeft = 2): Promise<void> {
    const { port } = new URL(this.#gateway.url);
    const mark = `m${this.#marks++}`;
    if (answer !== undefined) this.#rude.script(mark, answer);
    const body = JSON.stringify({
      model: "m",
      messages: [{ role: "user", content: mark }],
      stream: this.#marks % 2 === 0,
    });
    const head =
      `POST /rude/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${markHeader}: ${mark}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { heard, isEnded } = await converse(Number(port), { pieces: [head + body], end: "wait" }, answeredWithinMs);
    const script = JSON.stringify(answer)?.slice(0, 2_000);
    if (!isEnded) throw new Error(`A call was not answered within ${answeredWithinMs} ms; the provider said ${script}`);
    if (heard !== "" && !heard.startsWith("HTTP/1.1 "))
      throw new Error(`No answer: ${heard.slice(0, 200)} for ${script}`);
    if (answer !== undefined) return;
    // A provider with too much to do is late with good answers too; it is not late for the same call again and again.
    if (/^x-keywheel-error: upstream_timeout\r$/im.test(heard) && triesLeft > 0)
      return this.#callWith(answer, triesLeft - 1);
    // The keys may rest, and the provider may close the connection under the call.
    const isOwn = /^x-keywheel-error: (pool_exhausted|upstream_unreachable)\r$/im.test(heard);
    if (!isOwn && !heard.includes(`"mark":"${mark}"`)) {
      throw new Error(`The call ${mark} got the answer of another: ${heard.slice(0, 1_000)}`);
    }
  }

  async #holds(): Promise<void> {
    if (!this.#gateway.isRunning) throw new Error(`The gateway is gone:\n${this.#gateway.logs().slice(-4_000)}`);
    const fault = /^.*"level":"(?:error|fatal)".*$/m.exec(this.#gateway.logs());
    if (fault !== null) throw new Error(`The gateway met a fault of its own: ${fault[0]}`);
    if (this.#strict.faults.length > 0)
      throw new Error(`The provider saw: ${this.#strict.faults.slice(0, 5).join("; ")}`);
    const alive = await fetch(`${this.#gateway.url}/fuzz/v1/models`, { signal: AbortSignal.timeout(5_000) });
    if (alive.status !== 200) throw new Error(`A plain call was answered with ${alive.status}: ${await alive.text()}`);
    await alive.arrayBuffer();
    await eventually(
      () => this.#figures(),
      ({ running, files }) => running === 0 && files <= this.#files + batchSize + filesBeyondBatch,
      { what: "every request and connection to end", timeoutMs: 10_000 },
    );
    const { memoryBytes } = await this.#figures();
    if (memoryBytes > mostMemoryBytes) throw new Error(`The gateway holds ${memoryBytes} bytes of memory`);
  }

  async #figures(): Promise<{ readonly running: number; readonly files: number; readonly memoryBytes: number }> {
    const text = await (await fetch(`${this.#gateway.url}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
    // Files and memory are counted on Linux only; where they are not, the rest must do.
    const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
    return {
      running: read("keywheel_requests_running"),
      files: read("process_open_fds"),
      memoryBytes: read("process_resident_memory_bytes"),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway[Symbol.asyncDispose]();
    await this.#rude[Symbol.asyncDispose]();
    await this.#strict[Symbol.asyncDispose]();
  }
}
