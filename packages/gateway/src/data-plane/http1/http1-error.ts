export type Http1ErrorCode =
  /** What came is no answer, or one whose end cannot be told for certain. */
  | "HTTP1_BAD_ANSWER"
  /** The provider closed the connection before its answer was whole. */
  | "HTTP1_CLOSED"
  | "HTTP1_CONNECT_TIMEOUT"
  | "HTTP1_HEADERS_TIMEOUT"
  | "HTTP1_IDLE_TIMEOUT"
  /** We ended it ourselves. */
  | "HTTP1_ABORTED"
  /** What was to be sent cannot be written as a request. */
  | "HTTP1_BAD_REQUEST";

/** What this client itself has to say about an exchange; errors of sockets and TLS are passed on as they are. */
export class Http1Error extends Error {
  override readonly name = "Http1Error";
  readonly code: Http1ErrorCode;

  constructor(code: Http1ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function badAnswer(why: string): Http1Error {
  return new Http1Error("HTTP1_BAD_ANSWER", why);
}
