import { reply } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { benchKeys, chat, openDataPlane } from "./data-plane.test-bench.ts";
import { OrganizationWatch } from "./organization-watch.ts";

const [keyA = "", keyB = ""] = benchKeys;

describe("whose a key is", () => {
  it("is told by the provider's answer, of the key that got it, and not with each request", async () => {
    const bench = await openDataPlane({ keys: [keyA, keyB] });
    const body = { choices: [{ message: { content: "Hi" } }] };
    bench.provider
      .on({ key: keyA })
      .always(reply.json(200, { "openai-organization": "acme", "openai-project": "proj_1" }, body));
    bench.provider.on({ key: keyB }).always(reply.json(200, { "openai-organization": "other" }, body));

    for (let n = 0; n < 6; n++) await (await fetch(`${bench.url}/v1/chat/completions`, chat)).arrayBuffer();

    expect(bench.organizations).toEqual([`${keyA} acme proj_1`, `${keyB} other`]);
  });

  it("is looked at again after a minute, and at once after the clock was set back", () => {
    const told: string[] = [];
    const watch = new OrganizationWatch((_, keyId, organization) => void told.push(`${keyId} ${organization}`));
    const record = { id: "p", kind: "anthropic", baseUrl: "https://api.anthropic.com/v1" } as Parameters<
      OrganizationWatch["look"]
    >[0]["record"];
    const look = (now: number, organization: string): void =>
      watch.look(
        { record },
        "key",
        { header: (name) => (name === "anthropic-organization-id" ? organization : "") },
        now,
      );

    look(1_000_000, "one");
    look(1_059_999, "two");
    look(1_060_000, "three");
    look(900_000, "four");

    expect(told).toEqual(["key one", "key three", "key four"]);
  });

  it("is told by the address, of a resource of Azure", () => {
    const told: string[] = [];
    const watch = new OrganizationWatch((_, keyId, organization) => void told.push(`${keyId} ${organization}`));
    const at = (baseUrl: string): Parameters<OrganizationWatch["look"]>[0] =>
      ({ record: { id: "p", kind: "azure-openai", baseUrl } }) as Parameters<OrganizationWatch["look"]>[0];

    watch.look(at("https://mine.openai.azure.com/openai"), "a", { header: () => "" }, 0);
    watch.look(at("https://azure.example.com/openai"), "b", { header: () => "" }, 0);

    expect(told).toEqual(["a mine.openai.azure.com"]);
  });
});
