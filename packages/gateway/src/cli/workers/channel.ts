import type { Socket } from "node:net";
import { KeywheelError, isKeywheelError, type ErrorCode } from "@keywheel/pool";

/** One end of what Node lets two processes send each other. */
export interface Wire {
  readonly send: (message: object, socket?: Socket) => void;
  readonly onMessage: (listener: (message: unknown, socket?: Socket) => void) => void;
}

/** What one side may be asked and told, by name: the body, and of a question the answer. */
export interface Subjects {
  readonly asks: Readonly<Record<string, { readonly body: unknown; readonly answer: unknown }>>;
  readonly tells: Readonly<Record<string, unknown>>;
}

/** Who answers on this side. */
export interface Desk<Own extends Subjects> {
  readonly answer: {
    readonly [What in keyof Own["asks"]]: (body: Own["asks"][What]["body"]) => Promise<Own["asks"][What]["answer"]>;
  };
  readonly told: { readonly [What in keyof Own["tells"]]: (body: Own["tells"][What], socket?: Socket) => void };
}

type Message =
  | { readonly kind: "ask"; readonly id: number; readonly what: string; readonly body: unknown }
  | { readonly kind: "answer"; readonly id: number; readonly body: unknown }
  | { readonly kind: "fault"; readonly id: number; readonly fault: Fault }
  | { readonly kind: "tell"; readonly what: string; readonly body: unknown };

/** An error as it crosses: what it is, without its stack. */
interface Fault {
  readonly message: string;
  readonly code?: ErrorCode;
  readonly hint?: string;
}

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

/** Questions and news between the primary process and a worker, in the order in which they were sent. */
export class Channel<Own extends Subjects, Theirs extends Subjects> {
  readonly #wire: Wire;
  readonly #desk: Desk<Own>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isClosed = false;

  constructor(wire: Wire, desk: Desk<Own>) {
    this.#wire = wire;
    this.#desk = desk;
    wire.onMessage((message, socket) => this.#take(message as Message, socket));
  }

  /** @throws KeywheelError or Error with what the other side's was; Error if that side has ended */
  ask<What extends keyof Theirs["asks"] & string>(
    what: What,
    body: Theirs["asks"][What]["body"],
  ): Promise<Theirs["asks"][What]["answer"]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Error("the other process has ended"));
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#wire.send({ kind: "ask", id, what, body } satisfies Message);
    });
  }

  /** @param socket a connection to go with it */
  tell<What extends keyof Theirs["tells"] & string>(what: What, body: Theirs["tells"][What], socket?: Socket): void {
    if (!this.#isClosed) this.#wire.send({ kind: "tell", what, body } satisfies Message, socket);
  }

  /** The other side has ended: nothing is answered any more. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.values()) reject(new Error("the other process has ended"));
    this.#waiting.clear();
  }

  #take(message: Message, socket?: Socket): void {
    switch (message.kind) {
      case "ask":
        void this.#answer(message);
        return;
      case "tell":
        this.#desk.told[message.what]?.(message.body as never, socket);
        return;
      case "answer":
        this.#settle(message.id)?.resolve(message.body as never);
        return;
      case "fault":
        this.#settle(message.id)?.reject(readFault(message.fault));
    }
  }

  async #answer({ id, what, body }: Message & { readonly kind: "ask" }): Promise<void> {
    let message: Message;
    try {
      const answer = this.#desk.answer[what];
      if (answer === undefined) throw new Error(`nobody here knows about ${what}`);
      message = { kind: "answer", id, body: await answer(body) };
    } catch (error) {
      message = { kind: "fault", id, fault: toFault(error) };
    }
    if (!this.#isClosed) this.#wire.send(message);
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

function toFault(error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error);
  return isKeywheelError(error) ? { message, code: error.code, hint: error.hint } : { message };
}

function readFault({ message, code, hint }: Fault): Error {
  if (code === undefined) return new Error(message);
  return new KeywheelError(code, message, hint === undefined ? {} : { hint });
}
