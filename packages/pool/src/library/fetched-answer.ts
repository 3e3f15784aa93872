import { readEach, StreamObserver } from "../rules/stream-opening.ts";
import type { EpochMs } from "../rules/time.ts";
import { type AnswerWatch, HeldAnswer } from "../transport/held-answer.ts";
import { joined } from "./request.ts";

/** What an answer hangs on. */
export interface Exchange {
  /** Ends it; the body is broken off then. */
  abort(): void;
  /** It has ended by itself. */
  release(): void;
}

/** An answer of `fetch`, which has undone its content coding. */
export class FetchedAnswer extends HeldAnswer {
  readonly response: Response;

  constructor(response: Response, request: { readonly method: string }, receivedAt: EpochMs, exchange: Exchange) {
    const flow = new Flow();
    const { status } = response;
    super({ status, method: request.method, receivedAt }, { ...flow.control, abort: () => exchange.abort() });
    this.response = response;
    if (response.body !== null) void this.#pump(response.body.getReader(), flow, exchange);
    else {
      this.end();
      exchange.release();
    }
  }

  header(name: string): string | undefined {
    return this.response.headers.get(name) ?? undefined;
  }

  protected override textOf(held: readonly Uint8Array[], limitBytes: number): string {
    const length = held.reduce((sum, chunk) => sum + chunk.length, 0);
    return new TextDecoder().decode(joined(held, Math.min(length, limitBytes)));
  }

  protected override watch(isMaking: boolean, onChange: () => void): AnswerWatch {
    const observer = new StreamObserver({ signsOf: readEach, contentType: this.header("content-type"), isMaking });
    return {
      get opening() {
        return observer.opening;
      },
      get leansToContent() {
        return observer.leansToContent;
      },
      get errorText() {
        return observer.errorText;
      },
      push(chunk) {
        observer.push(chunk);
        onChange();
      },
      async end() {
        const end = observer.end();
        onChange();
        return end;
      },
      stop() {},
    };
  }

  async #pump(reader: ReadableStreamDefaultReader<Uint8Array>, flow: Flow, exchange: Exchange): Promise<void> {
    try {
      for (;;) {
        await flow.isOpen;
        const { done, value } = await reader.read();
        if (done) return this.end();
        this.push(value);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      exchange.release();
    }
  }
}

/** A gate that the receiver of a body shuts while he has enough. */
class Flow {
  isOpen: Promise<void> | undefined;
  #open: (() => void) | undefined;

  readonly control = {
    pause: (): void => {
      this.isOpen ??= new Promise((resolve) => {
        this.#open = resolve;
      });
    },
    resume: (): void => {
      this.#open?.();
      this.isOpen = undefined;
    },
  };
}
