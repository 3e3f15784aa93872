import type { ProviderKind } from "../../store/store.ts";

/** What was found in another tool's files, before it is made ours. */
export interface Found {
  readonly pools: readonly FoundPool[];
  /** What is not taken over, and why. */
  readonly left: readonly Left[];
}

/** Keys that another tool sends to one place. */
export interface FoundPool {
  readonly name: string;
  /** As the other tool has it; undefined for the one of `preset`. */
  readonly baseUrl: string | undefined;
  /** What the other tool puts behind its base URL before `/chat/completions` and the like; default nothing. */
  readonly behind?: "/v1" | "/v1beta";
  readonly preset?: string | undefined;
  readonly kind?: ProviderKind | undefined;
  readonly enabled: boolean;
  readonly keys: readonly FoundKey[];
}

export interface FoundKey {
  /** A key, or a reference as ours are. */
  readonly apiKey: string;
  readonly label: string;
  /** As the other tool has it; ours go from 1 to 100. */
  readonly weight: number;
  readonly enabled: boolean;
  /** The organization that the other tool names for it: keys of one share its limits. */
  readonly group?: string | undefined;
}

export interface Left {
  /** What it is, without a secret: `channel 3 "Azure"`. */
  readonly what: string;
  readonly why: string;
}

/** What a reader is given. */
export interface Source {
  /** A file, or a folder. */
  readonly path: string;
  /** Where other tools look for what decrypts their files. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** @throws CommandError (1) for files that are not that tool's */
export type Reader = (source: Source) => Promise<Found>;
