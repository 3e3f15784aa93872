/**
 * What happened between clients, the gateways, their provider and their operator, as seen from outside. All instants are
 * epoch ms of one observer, with fractions.
 */
export interface History {
  /** The provider's settings; the same throughout. */
  readonly policy: { readonly baseMs: number; readonly capMs: number };
  readonly calls: readonly CallEntry[];
  readonly changes: readonly ChangeEntry[];
  /** In the order in which they were asked for, those of one gateway one after the other. */
  readonly snapshots: readonly SnapshotEntry[];
  /** What `/api/events` told of keys, that of one gateway in its order. */
  readonly events: readonly KeyEventEntry[];
  /** When a gateway was without something that it shares with the others. */
  readonly absences?: readonly AbsenceEntry[];
  /** When all gateways shared everything and no key failed: then the shares are exact. */
  readonly rounds?: readonly RoundEntry[];
  /** What the database held of each key in the end. */
  readonly stored?: readonly { readonly keyId: string; readonly enabled: boolean }[];
}

/** Which of several gateways; default 0, which is the only one where there is one. */
interface OfInstance {
  readonly instance?: number;
}

/** One request of a client. */
export interface CallEntry extends OfInstance {
  readonly id: string;
  readonly sentAt: number;
  readonly endedAt: number;
  /** What the client got; undefined if its connection broke before a head came. */
  readonly status: number | undefined;
  /** `x-keywheel-error`, if the answer was the gateway's own. */
  readonly ownError: string | undefined;
  /** The session that the client named. */
  readonly session?: string;
  /** In the order in which they reached the provider. */
  readonly attempts: readonly AttemptEntry[];
}

/** One request of the gateway to the provider. */
export interface AttemptEntry {
  readonly keyId: string;
  /** The key's value, by which the provider knows it. */
  readonly value: string;
  readonly arrivedAt: number;
  readonly answer: AnswerEntry;
  /** Of a retry: whether the key of the attempt before it was on in the database as this one arrived. */
  readonly previousStored?: "on" | "off" | "gone";
}

export interface AnswerEntry {
  /** `limited` 429 or 529, `refused` 401 or 403, `other` anything that says nothing about the key. */
  readonly kind: "success" | "limited" | "refused" | "other";
  /** When its first byte was sent. */
  readonly at: number;
  /** The wait that it named. */
  readonly hintMs?: number;
  /** Told within a stream whose content had gone out: nobody can be seen to have taken note of it. */
  readonly isLate?: boolean;
}

/** A call of the operator's that changed a key. */
export interface ChangeEntry extends OfInstance {
  readonly keyId: string;
  readonly kind: "label" | "weight" | "order" | "value" | "disable" | "enable" | "reset" | "delete" | "add";
  readonly beganAt: number;
  /** Infinity if it failed: nobody can tell whether it has changed anything. */
  readonly returnedAt: number;
  /** The value that it gave the key, of `value` and `add`. */
  readonly value?: string;
}

export interface SnapshotEntry extends OfInstance {
  readonly beganAt: number;
  readonly returnedAt: number;
  readonly keys: readonly {
    readonly id: string;
    readonly status: string;
    /** Code of the status' reason. */
    readonly reason: string | undefined;
    readonly failures: number;
    readonly cooldownUntil: number | undefined;
  }[];
}

export interface KeyEventEntry extends OfInstance {
  readonly type: "key-cooled" | "key-disabled" | "key-recovered";
  readonly keyId: string;
  readonly at: number;
  readonly failures?: number;
  readonly until?: number;
}

/** What a gateway was without: the shared state, the database, or itself, since its process had been killed. */
export interface AbsenceEntry {
  readonly instance: number;
  readonly of: "state" | "database" | "process";
  readonly from: number;
  readonly to: number;
}

/** A row of turns between two instants at which no request was under way. */
export interface RoundEntry {
  readonly from: number;
  readonly to: number;
  /** The keys that could serve, each with its weight. */
  readonly wheel: readonly { readonly keyId: string; readonly weight: number }[];
}
