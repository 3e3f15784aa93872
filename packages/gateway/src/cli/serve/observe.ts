import { isKeywheelError } from "@keywheel/pool";
import { isOwnPage } from "../../control-plane/own-page.ts";
import { DataPlane } from "../../data-plane/data-plane.ts";
import { ownPageHeader } from "../../data-plane/headers.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { OpenLog } from "../../telemetry/log.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { logRequest } from "./access-log.ts";
import type { Core } from "./core.ts";
import { readKeysByStatus } from "./readings.ts";

export interface ObservedParts {
  readonly core: Core;
  readonly upstream: Upstream;
  readonly log: OpenLog;
  readonly redactor: Redactor;
  readonly version: string;
}

/** The data plane, with everybody told who wants to know what it does. */
export function openDataPlane({ core, upstream, log: { log, isWritten }, redactor, version }: ObservedParts): {
  readonly dataPlane: DataPlane;
  readonly metrics: Metrics;
} {
  const { activity, auth, catalog, clock, events, load, sharing, store, tell } = core;
  const metrics: Metrics = new Metrics({
    version,
    slugOf: (id) => slugOf(catalog, id),
    read: async () => ({
      keys: await readKeysByStatus(catalog),
      requestsRunning: dataPlane.running,
      eventSubscribers: events.subscribers,
      storeOk: store.trouble === undefined,
      sharedStateOk: sharing.trouble() === undefined,
      requestsLimit: load.mostRunning,
      refusedShare: load.state().refusedShare,
    }),
  });
  core.onPoolEvent((event) => metrics.event(event));

  const dataPlane = new DataPlane({
    catalog,
    upstream,
    clock,
    newId: createRequestIds(clock.now()),
    isOwnPage: ({ headers }) => isOwnPage(headers, auth.browsers, ownPageHeader),
    redact: redactor.redact,
    redactKnown: redactor.redactKnown,
    onAttempt: (poolId, requestId, attempt) => tell({ type: "attempt-ended", poolId, requestId, attempt }),
    onNotice: (poolId, code, message) => {
      const shown = message === undefined ? undefined : redactor.redact(message);
      tell({ type: "notice", poolId, code, message: shown, at: clock.now() });
    },
    onRequest: (record) => {
      activity.requestEnded(record);
      metrics.request(record);
      if (record.error !== "overloaded" && isWritten("info")) logRequest(log, record);
    },
    onFault: (what, error) => log.error({ err: error, what }, "Something went wrong inside Keywheel"),
    version,
    budgetBytes: load.bodyBytes,
    refusal: load.refusal,
  });
  return { dataPlane, metrics };
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

/** `req_…`, growing, and not those of a former process. */
function createRequestIds(startedAt: number): () => string {
  const prefix = `req_${startedAt.toString(36)}`;
  let count = 0;
  return () => `${prefix}${(++count).toString(36).padStart(4, "0")}`;
}
