import { createRoute } from "@hono/zod-openapi";
import type { Catalog } from "../../catalog/catalog.ts";
import { type UsageGroupName, type UsageRow, usageQuerySchema, usageSchema } from "../../contract/usage.ts";
import { toTime } from "../../contract/wire.ts";
import type { UsageCounts, UsageSum } from "../../store/store.ts";
import { countsToWire } from "../activity-wire.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { guarded, problems } from "../problems.ts";
import { security } from "../security.ts";
import { tooManyRows, usageQueryOf } from "../usage-query.ts";
import { providerIdOf } from "./requests.ts";

const mostRows = 20_000;

const route = createRoute({
  method: "get",
  path: "/api/usage",
  tags: ["activity"],
  summary: "Requests, errors, failovers and tokens, summed up",
  description:
    "By hour and whatever `by` names. What was used stays when its key goes. Tokens are what answers told: of a stream " +
    "that the client asked without usage, none.",
  security,
  request: { query: usageQuerySchema },
  responses: {
    200: { description: "The sums", content: { "application/json": { schema: usageSchema } } },
    ...problems(...guarded, 404, 422, 503),
  },
});

export function addUsageRoutes(app: ControlApp, { catalog, activity, clock }: ControlPlaneDeps): void {
  app.openapi(route, async (c) => {
    const asked = c.req.valid("query");
    const { groups, ...query } = usageQueryOf(asked, clock.now());
    const sums = await activity.usage({
      ...query,
      limit: mostRows + 1,
      ...(asked.provider === undefined ? {} : { providerId: providerIdOf(catalog, asked.provider) }),
      ...(asked.key === undefined ? {} : { keyId: asked.key }),
    });
    if (sums.length > mostRows) throw tooManyRows(mostRows);
    const data = sums.map((sum) => rowOf(sum, groups, catalog));
    const body = { from: toTime(query.from), to: toTime(query.to), by: [...groups], data, total: totalOf(sums) };
    return c.json(body, 200);
  });
}

function rowOf(sum: UsageSum, groups: readonly UsageGroupName[], catalog: Catalog): UsageRow {
  return Object.assign({}, ...groups.map((group) => fieldsOf(sum, group, catalog)), countsToWire(sum)) as UsageRow;
}

function fieldsOf(sum: UsageSum, group: UsageGroupName, catalog: Catalog): Partial<UsageRow> {
  switch (group) {
    case "minute":
    case "hour":
    case "day":
      return { at: toTime(sum.at) };
    case "provider":
      return { provider_id: sum.providerId, provider: catalog.byId(sum.providerId)?.record.slug ?? null };
    case "key":
      return {
        key_id: orNull(sum.keyId),
        label: catalog.labelOfKey(sum.keyId) ?? sum.label,
        api_key: catalog.maskedOfKey(sum.keyId) ?? null,
      };
    case "label":
      return { label: sum.label };
    case "token":
      return { token_id: orNull(sum.tokenId), token_name: catalog.tokens.nameOf(sum.tokenId) ?? null };
    case "model":
      return { model: orNull(sum.model) };
  }
}

function orNull(text: string): string | null {
  return text === "" ? null : text;
}

function totalOf(sums: readonly UsageSum[]): ReturnType<typeof countsToWire> {
  const names = ["requests", "errors", "failovers", "inputTokens", "cacheReadTokens", "cacheWriteTokens"] as const;
  const total = Object.fromEntries(
    [...names, "outputTokens", "reasoningTokens"].map((name) => [
      name,
      sums.reduce((sum, row) => sum + row[name as keyof UsageCounts], 0),
    ]),
  );
  return countsToWire(total as unknown as UsageCounts);
}
