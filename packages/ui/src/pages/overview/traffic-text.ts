import type { TFunction } from "i18next";
import type { Format } from "../../format/format.ts";
import type { Counts } from "./use-last-hour.ts";

/** "12 requests · 1 failover · 0 errors". */
export function trafficText({ requests, failovers, errors }: Counts, t: TFunction, format: Format): string {
  return [
    t("overview.countRequests", { count: requests, shown: format.number(requests) }),
    t("overview.countFailovers", { count: failovers, shown: format.number(failovers) }),
    t("overview.countErrors", { count: errors, shown: format.number(errors) }),
  ].join(" · ");
}
