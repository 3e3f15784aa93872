import { randomBytes } from "node:crypto";
import { createRequestIds } from "../../requests/request-id.ts";
import { type Clock, isKeywheelError, type PoolEvent } from "@keywheel/pool";
import type { CatalogView } from "../../catalog/catalog.ts";
import { randomText } from "../../catalog/ids.ts";
import { DataPlane, type DataPlaneDeps } from "../../data-plane/data-plane.ts";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { OpenLog } from "../../telemetry/log.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import type { KeysInFlight } from "../../telemetry/keys-in-flight.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { programVersion } from "../version.ts";
import { logRequest } from "./access-log.ts";
import type { Core } from "./core.ts";
import type { LoadRoom } from "./load-room.ts";
import type { OtelRoom } from "./otel-room.ts";
import { readAffinity, readKeys } from "./readings.ts";

export interface DataPlaneParts extends Pick<DataPlaneDeps, "upstream" | "isOwnPage" | "limits"> {
  readonly catalog: CatalogView;
  readonly clock: Clock;
  readonly load: Pick<LoadRoom, "bodyBytes" | "refusal">;
  readonly log: OpenLog;
  readonly redactor: Redactor;
  readonly inFlight: Pick<KeysInFlight, "asks" | "ended">;
  /** Undefined while nobody collects traces. */
  readonly otel: Pick<OtelRoom, "began" | "attempt" | "ended"> | undefined;
  /** Which of several processes this is; 0 for the one that does everything. */
  readonly worker: number;
  /** Told what happens to keys. Never throws. */
  readonly tell: (event: PoolEvent) => void;
  /** Told of each request that has ended. Never throws. */
  readonly onRequest: (record: RequestRecord) => void;
}

/** The data plane, with everybody told who wants to know what it does. */
export function openDataPlane({
  log: { log, isWritten, entry },
  redactor,
  worker,
  inFlight,
  otel,
  tell,
  ...parts
}: DataPlaneParts): DataPlane {
  const { clock, load, onRequest } = parts;
  return new DataPlane({
    ...parts,
    newId: createRequestIds(randomText(4, randomBytes), worker),
    redact: redactor.redact,
    redactKnown: redactor.redactKnown,
    tracing: otel,
    onAsk: (requestId, keyId) => inFlight.asks(requestId, keyId),
    onAttempt: (poolId, requestId, attempt) => tell({ type: "attempt-ended", poolId, requestId, attempt }),
    onNotice: (poolId, code, message) => {
      const shown = message === undefined ? undefined : redactor.redact(message);
      tell({ type: "notice", poolId, code, message: shown, at: clock.now() });
    },
    onOrganization: (poolId, keyId, told, toldProject) => {
      const organization = redactor.redact(told);
      const project = toldProject === undefined ? {} : { project: redactor.redact(toldProject) };
      tell({ type: "organization-seen", poolId, keyId, organization, ...project, at: clock.now() });
    },
    onRequest: (record) => {
      inFlight.ended(record.requestId);
      otel?.ended(record);
      onRequest(record);
      if (record.error !== "overloaded" && isWritten("info")) logRequest(entry, record, redactor.redactAgain);
    },
    onFault: (what, error) => log.error({ err: error, what }, "Something went wrong inside Keywheel"),
    version: programVersion(),
    budgetBytes: load.bodyBytes,
    refusal: load.refusal,
  });
}

/** What all processes of this gateway carry together. */
export type TotalLoad = () => {
  readonly running: number;
  readonly mostRunning: number;
  readonly refusedShare: number;
  /** Processes that serve the data plane. */
  readonly workers: number;
};

export interface MetricsParts {
  readonly total: TotalLoad;
  /** Requests under way by key, over all processes. */
  readonly inFlight: () => Promise<ReadonlyMap<string, number>>;
}

/** What is counted, over all processes of this gateway. */
export function openMetrics(core: Core, { total, inFlight }: MetricsParts): Metrics {
  const { activity, catalog, clock, events, sharing, store, redact } = core;
  const metrics = new Metrics({
    version: programVersion(),
    slugOf: (id) => slugOf(catalog, id),
    read: async () => {
      const { running, mostRunning, refusedShare, workers } = total();
      return {
        providers: catalog.providers.list().map(({ record }) => record.slug),
        keys: await readKeys(catalog, { inFlight: await inFlight(), now: clock.now(), redact }),
        affinity: readAffinity(activity.kept.affinityTotals(), (id) => slugOf(catalog, id)),
        requestsRunning: running,
        requestsLimit: mostRunning,
        refusedShare,
        workers,
        eventSubscribers: events.subscribers,
        storeOk: store.trouble === undefined,
        sharedStateOk: sharing.trouble() === undefined,
      };
    },
  });
  core.onPoolEvent((event) => metrics.event(event));
  return metrics;
}

/** Undefined for a provider that was removed while it served. */
function slugOf({ providers }: Core["catalog"], providerId: string): string | undefined {
  try {
    return providers.get(providerId).record.slug;
  } catch (error) {
    if (isKeywheelError(error)) return undefined;
    throw error;
  }
}
