import { STATUS_CODES } from "node:http";
import { failed } from "../exit.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** An answer of the control plane, its body as text. */
export interface RawAnswer {
  readonly status: number;
  readonly body: string;
  /** The code of an error that the gateway made in the provider's stead. */
  readonly ownError?: string | undefined;
}

/** How a call reaches a control plane: over HTTP, or in this process. */
export interface Transport {
  /** For people: where it leads. */
  readonly where: string;
  /** The address of the running gateway; undefined when none runs and this process works on the data directory. */
  readonly url: string | undefined;
  /** @throws CommandError (1) when no answer comes */
  readonly send: (method: Method, path: string, body: unknown) => Promise<RawAnswer>;
  readonly close: () => Promise<void>;
}

/** A field that was refused. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

/** An answer of the control plane that says no. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  readonly errors: readonly FieldProblem[];

  constructor({ status, body }: RawAnswer) {
    const problem = recordIn(body);
    super(textIn(problem, "title") ?? `The gateway answered ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd());
    this.status = status;
    this.code = textIn(problem, "code");
    this.detail = textIn(problem, "detail");
    this.hint = textIn(problem, "hint");
    this.errors = fieldsIn(problem);
  }
}

/** Calls of the control plane; paths begin behind `/api`. */
export class ApiClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get where(): string {
    return this.#transport.where;
  }

  get url(): string | undefined {
    return this.#transport.url;
  }

  /** The body of the answer as it came. @throws Refusal */
  async text(method: Method, path: string, body?: unknown): Promise<string> {
    const answer = await this.#transport.send(method, `/api${path}`, body);
    if (answer.status < 200 || answer.status > 299) throw new Refusal(answer);
    return answer.body;
  }

  /** The body of the answer, understood. The caller names its shape: it is that of the contract. @throws Refusal */
  async call<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const text = await this.text(method, path, body);
    if (text === "") return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw failed(`What answers at ${this.where} is no Keywheel gateway: it does not speak JSON.`, error);
    }
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

function recordIn(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Not JSON: something else answers there, and the status says what there is to say.
    return {};
  }
}

function textIn(record: Record<string, unknown>, name: string): string | undefined {
  const value = record[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function fieldsIn(problem: Record<string, unknown>): readonly FieldProblem[] {
  const { errors } = problem;
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((entry: unknown) => {
    if (typeof entry !== "object" || entry === null) return [];
    const { path, message } = entry as Record<string, unknown>;
    return typeof path === "string" && typeof message === "string" ? [{ path, message }] : [];
  });
}
