import { bytesReading, type BytesFrame, type StreamEnd, StreamObserver, type StreamOpening } from "@keywheel/pool";
import { codingsOf, createDecoder, type Decoder } from "./content-coding.ts";
import type { UsageMeter } from "./usage-meter.ts";

export interface BodyWatchOptions {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Whether the request was to make what the answer describes. */
  readonly isMaking: boolean;
  /** Given what goes by, content encoding undone. */
  readonly meter?: UsageMeter | undefined;
  /** Called whenever `opening` may have changed. */
  readonly onChange: () => void;
}

/** An encoded answer in JSON is decoded up to here for the sake of its usage, which stands at its end. */
const meteredBytes = 4 * 1024 * 1024;

/**
 * Watches the body of an answer go by, content encoding undone on a copy.
 *
 * What cannot be decoded is content as far as anybody here can tell. Decoding a copy costs time, so it goes on after the
 * first content only where an error or a missing end can still come (in event streams and their like), or a usage.
 */
export class BodyWatch {
  readonly #observer: StreamObserver<BytesFrame>;
  /** Of an encoded body; more than one coding is undone by nobody. */
  readonly #coding: string | undefined;
  #decoder: Decoder | undefined;
  readonly #isStream: boolean;
  readonly #meter: UsageMeter | undefined;
  readonly #onChange: () => void;
  #isBlind = false;
  #isEnding = false;
  /** Whether the encoded body ended in the middle, though HTTP has it as whole. */
  #isShort = false;
  #encodedBytes = 0;

  constructor({ contentType, contentEncoding, isMaking, onChange, meter }: BodyWatchOptions) {
    this.#meter = meter;
    this.#observer = new StreamObserver({ reading: bytesReading, contentType, isMaking });
    this.#onChange = onChange;
    this.#isStream = contentType === undefined || !/[/+]json\b/i.test(contentType);
    const codings = codingsOf(contentEncoding);
    this.#coding = codings[0];
    this.#isBlind = codings.length > 1;
  }

  get opening(): StreamOpening {
    return this.#isBlind ? "content" : this.#observer.opening;
  }

  /** Whether an error is all that could still come. */
  get leansToContent(): boolean {
    return this.#observer.leansToContent;
  }

  /** The error that was told, in the opening or midway, to be judged as the answer's body. */
  get errorText(): string | undefined {
    return this.#observer.errorText;
  }

  push(chunk: Buffer): void {
    if (this.#isBlind) return;
    if (this.#coding === undefined) return this.#observe(chunk);
    this.#encodedBytes += chunk.length;
    this.#decoder ??= this.#startDecoder(this.#coding, chunk);
    if (this.#decoder === undefined || (this.#encodedBytes > meteredBytes && this.#seesEnough())) this.#goBlind();
    else this.#decoder.write(chunk);
  }

  /** The body has ended as HTTP has it. */
  end(): StreamEnd | Promise<StreamEnd> {
    const decoder = this.#decoder;
    this.#isEnding = true;
    return decoder === undefined || this.#isBlind ? this.#tellEnd() : this.#decodeRest(decoder);
  }

  async #decodeRest(decoder: Decoder): Promise<StreamEnd> {
    await new Promise<void>((resolve) => {
      decoder.once("close", resolve);
      decoder.end();
    });
    // Node unpacks only the first of several zstd frames that come in one piece: the rest was not seen.
    if (decoder.bytesWritten < this.#encodedBytes && !this.#isShort) this.#goBlind();
    return this.#tellEnd();
  }

  #tellEnd(): StreamEnd {
    const end = this.#findEnd();
    this.#onChange();
    return end;
  }

  /** Nobody wants to know any more. */
  stop(): void {
    this.#decoder?.destroy();
  }

  #findEnd(): StreamEnd {
    if (this.#isShort) return { kind: "truncated" };
    return this.#isBlind ? { kind: "completed" } : this.#observer.end();
  }

  #startDecoder(coding: string, first: Buffer): Decoder | undefined {
    const decoder = createDecoder(coding, first);
    decoder?.on("data", (chunk: Buffer) => this.#observe(chunk));
    decoder?.on("error", () => {
      this.#isShort = this.#isEnding;
      this.#goBlind();
    });
    return decoder;
  }

  #observe(chunk: Buffer): void {
    this.#meter?.push(chunk);
    const { opening: before, leansToContent } = this.#observer;
    const opening = this.#observer.push(chunk);
    if (opening === before && leansToContent === this.#observer.leansToContent) return;
    this.#onChange();
    if (this.#decoder !== undefined && this.#meter === undefined && this.#seesEnough()) this.#goBlind();
  }

  /** Whether nothing is to come that could change how the answer is judged. */
  #seesEnough(): boolean {
    return this.#observer.opening === "content" && !this.#isStream;
  }

  #goBlind(): void {
    this.#isBlind = true;
    this.#decoder?.destroy();
    this.#onChange();
  }
}
