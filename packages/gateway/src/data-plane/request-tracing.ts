import type { Passage } from "./admission.ts";

/** Follows requests through programs, for whoever collects traces. Its methods run on the request path and never throw. */
export interface RequestTracing {
  /** A request has begun. */
  began(passage: Pick<Passage, "requestId" | "header" | "startedAt">): void;
  /**
   * An attempt begins: the provider is told of it in the place of what the client said of its own trace.
   *
   * @param headers those that go to the provider, flat name, value, name, value; changed in place
   */
  attempt(requestId: string, headers: string[]): void;
}
