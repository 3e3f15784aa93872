import type { TFunction } from "i18next";
import type { CountName, Group } from "./usage-sums.ts";

export function countLabel(count: CountName, t: TFunction): string {
  switch (count) {
    case "requests":
      return t("usage.requests");
    case "errors":
      return t("usage.errors");
    case "failovers":
      return t("usage.failovers");
    case "input_tokens":
      return t("usage.input");
    case "cache_read_tokens":
      return t("usage.cached");
    case "output_tokens":
      return t("usage.output");
  }
}

export function groupLabel(group: Group, t: TFunction): string {
  switch (group) {
    case "key":
      return t("usage.byKey");
    case "label":
      return t("usage.byLabel");
    case "provider":
      return t("usage.byProvider");
    case "token":
      return t("usage.byToken");
    case "model":
      return t("usage.byModel");
  }
}
