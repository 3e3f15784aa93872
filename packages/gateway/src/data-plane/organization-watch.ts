import { organizationIn } from "@keywheel/pool";
import type { ProviderRuntime } from "../catalog/catalog.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

/** An answer of each key is looked at so often: whose it is hardly ever changes, and every look costs a search. */
const lookEveryMs = 60_000;
/** Keys that are gone are remembered as well. */
const mostKeys = 100_000;

/** Looks now and then at what answers say of whose keys they were given to. */
export class OrganizationWatch {
  readonly #lookedAt = new Map<string, number>();
  readonly #tell: (providerId: string, keyId: string, organization: string) => void;

  constructor(tell: (providerId: string, keyId: string, organization: string) => void) {
    this.#tell = tell;
  }

  /** @param now epoch ms */
  look(
    { record }: Pick<ProviderRuntime, "record">,
    keyId: string,
    answer: Pick<StreamedAnswer, "header">,
    now: number,
  ): void {
    const before = this.#lookedAt.get(keyId);
    if (before !== undefined && now - before < lookEveryMs && now >= before) return;
    if (this.#lookedAt.size >= mostKeys) this.#lookedAt.clear();
    this.#lookedAt.set(keyId, now);
    const organization = organizationIn(record.kind, (name) => answer.header(name));
    if (organization !== undefined) this.#tell(record.id, keyId, organization);
  }
}
