import type { RecordedRequest } from "./recorded-request.ts";
import type { Reply } from "./reply.ts";

/** Which requests a script answers; what is left out does not matter. */
export interface ScriptFilter {
  readonly key?: string;
  readonly method?: string;
  /** The path of the request target, query aside: the whole of it, or a pattern. */
  readonly path?: string | RegExp;
  readonly where?: (request: RecordedRequest) => boolean;
}

/** Answers in the order in which matching requests arrive. */
export class Script {
  readonly #filter: ScriptFilter;
  readonly #queue: Reply[] = [];
  #lasting: Reply | undefined;

  constructor(filter: ScriptFilter) {
    this.#filter = filter;
  }

  /** The answers to the next requests, one each; may be called again for those after. */
  next(...replies: readonly Reply[]): this {
    this.#queue.push(...replies);
    return this;
  }

  /** The same answer `count` times. */
  times(count: number, reply: Reply): this {
    for (let i = 0; i < count; i++) this.#queue.push(reply);
    return this;
  }

  /** The answer to everything once the queue is empty, until `clear`. */
  always(reply: Reply): this {
    this.#lasting = reply;
    return this;
  }

  /** Back to what the provider would say by itself. */
  clear(): this {
    this.#queue.length = 0;
    this.#lasting = undefined;
    return this;
  }

  /** Scripted answers that no request has taken yet. */
  get pending(): number {
    return this.#queue.length;
  }

  matches(request: RecordedRequest): boolean {
    const { key, method, path, where } = this.#filter;
    if (key !== undefined && request.key !== key) return false;
    if (method !== undefined && request.method !== method) return false;
    if (typeof path === "string" && request.path !== path) return false;
    if (path instanceof RegExp && !path.test(request.path)) return false;
    return where === undefined || where(request);
  }

  /** Takes the next answer, if there is one. */
  take(): Reply | undefined {
    return this.#queue.shift() ?? this.#lasting;
  }
}
