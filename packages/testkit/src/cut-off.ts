/**
 * How a network fails: `silent` loses every packet and says nothing, `unreachable` lets nobody connect and says so at once.
 */
export type Cut = "silent" | "unreachable";

/** A way to a server that can be cut for one program alone. */
export interface CutOff {
  /** Where servers have to listen beyond loopback, so that it leads to them; none where loopback will do. */
  readonly listenOn: readonly string[];
  /** Whom a server has to let in there, as CIDR; none where loopback will do. */
  readonly lets: readonly string[];
  /** Makes it lead to this port. @returns the host and port by which the program reaches it */
  leadTo(port: number): Promise<{ readonly host: string; readonly port: number }>;
  cut(how: Cut): Promise<void>;
  /** As it was. One that is whole stays whole. */
  heal(): Promise<void>;
}

/** Where a program runs so that it can be cut off. */
export interface Isolation extends AsyncDisposable {
  /** How it is done, for people. */
  readonly way: string;
  /** Comes before the words of the program's command. */
  readonly prefix: readonly string[];
  /** Where the program has to listen, so that others reach it. */
  readonly host: string;
  /** Where those have to listen whom it must reach and that are never cut off. */
  readonly outside: string;
  addWay(): Promise<CutOff>;
}
