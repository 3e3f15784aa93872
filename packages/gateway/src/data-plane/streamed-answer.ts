import { type AnswerWatch, type BodyControl, HeldAnswer, mayHaveBody, type Usage } from "@keywheel/pool";
import { BodyWatch } from "./body-watch.ts";
import { decodeBeginning } from "./content-coding.ts";
import { headerReader } from "./headers.ts";
import { mayTellUsage, UsageMeter } from "./usage-meter.ts";

/** An answer as a transport of this gateway gives it: bytes and headers as they came. */
export class StreamedAnswer extends HeldAnswer<Buffer> {
  readonly statusText: string;
  /** Flat name, value, name, value, as the provider wrote them. */
  readonly rawHeaders: readonly string[];
  readonly #mayHaveUsage: boolean;
  /** Made when first asked: a judgement may ask for dozens of names. */
  #headers: ((name: string) => string | undefined) | undefined;
  #meter: UsageMeter | undefined;

  constructor(
    head: {
      readonly status: number;
      readonly statusText: string;
      readonly rawHeaders: readonly string[];
      /** Of the request. */
      readonly method: string;
      readonly receivedAt: number;
    },
    control: BodyControl,
    limits: { readonly openingMs?: number | undefined } = {},
  ) {
    super(head, control, limits);
    this.statusText = head.statusText;
    this.rawHeaders = head.rawHeaders;
    this.#mayHaveUsage = mayHaveBody(head.method, head.status);
  }

  header(name: string): string | undefined {
    this.#headers ??= headerReader(this.rawHeaders);
    return this.#headers(name);
  }

  /** Lets the body be searched for what it cost; before anything else is asked of it. */
  meterUsage(): void {
    const contentType = this.header("content-type");
    if (this.#mayHaveUsage && mayTellUsage(contentType)) this.#meter = new UsageMeter(contentType);
  }

  /** What the answer cost as far as it has told; for a body that was metered. */
  get usage(): Usage | undefined {
    return this.#meter?.read();
  }

  protected override get isAlwaysWatched(): boolean {
    return this.#meter !== undefined;
  }

  protected override textOf(held: readonly Buffer[], limitBytes: number): string {
    return decodeBeginning(Buffer.concat(held).subarray(0, limitBytes), this.header("content-encoding"));
  }

  protected override watch(isMaking: boolean, onChange: () => void): AnswerWatch<Buffer> {
    return new BodyWatch({
      contentType: this.header("content-type"),
      contentEncoding: this.header("content-encoding"),
      isMaking,
      onChange,
      meter: this.#meter,
    });
  }
}
