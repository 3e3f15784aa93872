import type { IncomingMessage, ServerResponse } from "node:http";
import { toProblem } from "../../contract/to-problem.ts";
import type { ControlApp } from "../../control-plane/app.ts";
import { answerWith } from "../../data-plane/client.ts";
import { answerMetrics, type MetricsRoom } from "./metrics-room.ts";

const problemHead = ["content-type", "application/problem+json", "cache-control", "no-store"] as const;
const unloaded = JSON.stringify(
  toProblem({
    code: "internal",
    status: 503,
    message: "The control plane could not be loaded; requests of clients are served all the same",
    hint: "See the log of the gateway. If its files were replaced by another version, start it again.",
    details: [],
  }),
);

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** What others have to be asked around a call. */
export interface Around {
  /** Before a call is answered: what happened before is to be known. */
  readonly before: () => Promise<void>;
  /** Before the answer to a change is sent: it is to have taken effect. */
  readonly afterChange: () => Promise<void>;
}

/** The control plane behind a socket. */
export class ControlRoom {
  readonly #open: () => Promise<ControlApp>;
  readonly #metrics: MetricsRoom;
  readonly #around: Around | undefined;
  readonly #onFault: (error: unknown) => void;
  #listener: Promise<Listener> | undefined;

  /** @param open loads the control plane; called with the first request, and again after it failed */
  constructor(
    open: () => Promise<ControlApp>,
    metrics: MetricsRoom,
    { onFault, around }: { readonly onFault: (error: unknown) => void; readonly around?: Around | undefined },
  ) {
    this.#open = open;
    this.#onFault = onFault;
    this.#metrics = metrics;
    this.#around = around;
  }

  #loaded(): Promise<Listener> {
    this.#listener ??= this.#load().catch((error: unknown) => {
      // Tried again with the next call: what could not be read may be there then.
      this.#listener = undefined;
      throw error;
    });
    return this.#listener;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    // Whatever is wrong here is no reason to end what clients have under way.
    this.#answer(request, response).catch((error: unknown) => {
      this.#onFault(error);
      answerWith(request, response, 503, problemHead, unloaded);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Whoever asks whether it lives is not to wait for others.
    if (!/^\/(healthz|readyz)(\?|$)/.test(request.url ?? "")) await this.#around?.before();
    if (/^\/metrics(\?|$)/.test(request.url ?? "")) return await answerMetrics(request, response, this.#metrics);
    const listen = await this.#loaded();
    await listen(request, response);
  }

  async #load(): Promise<Listener> {
    const [app, { getRequestListener }] = await Promise.all([this.#open(), import("@hono/node-server")]);
    const around = this.#around;
    if (around === undefined) return getRequestListener(app.fetch);
    return getRequestListener(async (...call: Parameters<typeof app.fetch>) => {
      const answer = await app.fetch(...call);
      if (!/^(GET|HEAD)$/.test(call[0].method)) await around.afterChange();
      return answer;
    });
  }
}
