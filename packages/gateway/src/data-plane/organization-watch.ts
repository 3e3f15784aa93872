import { organizationIn, ownerAt, projectIn } from "@keywheel/pool";
import type { ProviderRuntime } from "../catalog/catalog.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

/** An answer of each key is looked at so often: whose it is hardly ever changes, and every look costs a search. */
const lookEveryMs = 60_000;
/** Keys that are gone are remembered as well. */
const mostKeys = 100_000;

/** @param project of that organization; undefined where none was said */
export type TellOwner = (providerId: string, keyId: string, organization: string, project: string | undefined) => void;

/** Looks now and then at what answers say of whose keys they were given to. */
export class OrganizationWatch {
  readonly #lookedAt = new Map<string, number>();
  readonly #tell: TellOwner;

  constructor(tell: TellOwner) {
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
    const header = (name: string): string | undefined => answer.header(name);
    const host = URL.parse(record.baseUrl)?.hostname ?? "";
    const organization = organizationIn(record.kind, header) ?? ownerAt(record.kind, host);
    if (organization !== undefined) this.#tell(record.id, keyId, organization, projectIn(record.kind, header));
  }
}
