import type {
  DisabledRecord,
  HealthRecord,
  KeyEntry,
  OwnError,
  Pin,
  PoolEvent,
  StatePolicy,
  TouchedSession,
} from "@keywheel/pool";
import type { TokenRecord } from "../../catalog/catalog.ts";
import type { ProviderSettings } from "../../contract/settings.ts";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { Sight, StateCall } from "../../state/state-link.ts";
import type { Answer, Push } from "../../state/wire.ts";
import type { ProviderRecord } from "../../store/store.ts";
import type { LoadState } from "../../telemetry/load-watch.ts";
import type { Patience } from "../serve/server.ts";
import type { StartOptions } from "../start-options.ts";

// What the primary process and its workers say to each other. Structured clones: no class, no function.

/** A provider as requests need it, values resolved. The channel is a pair of sockets that nobody else has. */
export interface ProviderSnapshot {
  readonly record: ProviderRecord & { readonly apiKey: null };
  readonly settings: ProviderSettings;
  readonly policy: StatePolicy;
  /** In wheel order. */
  readonly entries: readonly KeyEntry[];
  /** By key. No value for one that cannot be resolved. */
  readonly keys: readonly { readonly id: string; readonly label: string; readonly value: string | undefined }[];
  readonly providerKey: string | undefined;
}

/** What has changed of the catalog. */
export interface CatalogUpdate {
  readonly providers: readonly ProviderSnapshot[];
  readonly removed: readonly string[];
  readonly tokens: readonly TokenRecord[] | undefined;
  readonly requiresToken: boolean;
}

/** What a worker needs of the words of the call. */
export type WorkerOptions = Pick<
  StartOptions,
  | "host"
  | "allowHost"
  | "allowOrigin"
  | "allowPrivateMetadata"
  | "upstreamClient"
  | "redisUrl"
  | "maxRequests"
  | "maxMemoryMb"
  | "logLevel"
  | "logFormat"
>;

export interface Assignment {
  /** From 1 up; a worker that takes another one's place gets a number of its own. */
  readonly number: number;
  readonly options: WorkerOptions;
  readonly catalog: CatalogUpdate;
  /** Where the primary answers what is not for workers. */
  readonly innerSocket: string;
  /** A server has to listen somewhere: nobody comes there. */
  readonly ownSocket: string;
}

/** What a worker has done since it told last. */
export interface Doings {
  readonly events: readonly PoolEvent[];
  readonly requests: readonly RequestRecord[];
  readonly tokenUses: readonly { readonly id: string; readonly at: number }[];
}

export interface WorkerLoad extends LoadState {
  readonly running: number;
  readonly mostRunning: number;
}

export type PrimarySubjects = {
  readonly asks: {
    readonly join: { readonly body: undefined; readonly answer: Assignment };
    readonly state: { readonly body: StateCall; readonly answer: Answer };
    readonly look: { readonly body: string; readonly answer: Sight };
    readonly ping: { readonly body: undefined; readonly answer: undefined };
    readonly saveHealth: { readonly body: HealthRecord; readonly answer: undefined };
    readonly disableKey: { readonly body: DisabledRecord; readonly answer: undefined };
    readonly saveSessions: { readonly body: readonly TouchedSession[]; readonly answer: undefined };
    readonly savePins: { readonly body: readonly Pin[]; readonly answer: undefined };
    readonly did: { readonly body: Doings; readonly answer: undefined };
    /** Whether a request of a token with limits may come in; its place is to be given back. */
    readonly enter: { readonly body: TokenRecord; readonly answer: { readonly place: number } | OwnError };
  };
  readonly tells: {
    /** It takes connections. */
    readonly ready: undefined;
    readonly failed: { readonly message: string; readonly exitCode: 1 | 2 };
    readonly leave: number;
    /** A connection has arrived, and has ended. */
    readonly took: number;
    readonly closed: undefined;
    readonly load: WorkerLoad;
  };
};

export type WorkerSubjects = {
  readonly asks: {
    readonly catalog: { readonly body: CatalogUpdate; readonly answer: undefined };
    /** Answered at once, and so after all that was told before. */
    readonly heard: { readonly body: undefined; readonly answer: undefined };
    /** Answered when all that was done before has been told. */
    readonly flush: { readonly body: undefined; readonly answer: undefined };
    /** Requests under way by key. */
    readonly inFlight: { readonly body: undefined; readonly answer: ReadonlyMap<string, number> };
    readonly stop: { readonly body: Patience; readonly answer: { readonly cutOff: number } };
  };
  readonly tells: {
    readonly push: Push;
    /** Comes with a connection of a client's. */
    readonly connection: number;
    readonly cut: undefined;
  };
};
