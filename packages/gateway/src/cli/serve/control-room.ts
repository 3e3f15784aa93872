import type { IncomingMessage, ServerResponse } from "node:http";
import type { ControlApp } from "../../control-plane/app.ts";
import { answerMetrics, type MetricsRoom } from "./metrics-room.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The control plane behind a socket. */
export class ControlRoom {
  readonly #open: () => Promise<ControlApp>;
  readonly #metrics: MetricsRoom;
  #listener: Promise<Listener> | undefined;

  /** @param open loads the control plane; called once, with the first request or when it is told to */
  constructor(open: () => Promise<ControlApp>, metrics: MetricsRoom) {
    this.#open = open;
    this.#metrics = metrics;
  }

  /** May be called twice. */
  load(): Promise<Listener> {
    this.#listener ??= this.#load();
    return this.#listener;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    if (/^\/metrics(\?|$)/.test(request.url ?? "")) void answerMetrics(request, response, this.#metrics);
    else void this.load().then((listen) => listen(request, response));
  }

  async #load(): Promise<Listener> {
    const [app, { getRequestListener }] = await Promise.all([this.#open(), import("@hono/node-server")]);
    return getRequestListener(app.fetch);
  }
}
