import { KeywheelError } from "@keywheel/pool";
import type { KeyPatch, KeyRecord, ProviderPatch, ProviderRecord } from "../../store/store.ts";
import type { FieldFault } from "../../contract/field-faults.ts";
import { type Marks, noMarks } from "./marks.ts";

/**
 * What a file of configuration has in its hands, and what may not be changed elsewhere for that.
 *
 * A change beside the file would be undone by the next reading of it, so it is refused instead. Operation is not
 * configuration: a key or provider of which the file does not say whether it is enabled can be switched, a key tested and reset.
 */
export class Managed {
  /** Where the file is; undefined while there is none. */
  file: string | undefined;
  marks: Marks = noMarks;

  isManaged(id: string): boolean {
    const { providers, keys, tokens } = this.marks;
    return providers.has(id) || keys.has(id) || tokens.has(id);
  }

  /** @throws KeywheelError conflict */
  checkProvider({ id, slug }: ProviderRecord, patch: ProviderPatch): void {
    const { providers, ownKeys, switches } = this.marks;
    if (!providers.has(id)) return;
    const field = Object.keys(patch).find((name) => {
      if (name === "enabled") return switches.has(id);
      return name !== "apiKey" || ownKeys.has(id);
    });
    if (field !== undefined) throw this.#refusal(wireName(field), `The provider ${slug}`);
  }

  /** @throws KeywheelError conflict */
  checkKey({ id, enabled, disabledReason }: KeyRecord, patch: KeyPatch): void {
    const { keys, switches } = this.marks;
    if (!keys.has(id)) return;
    const isRefused = !enabled && disabledReason !== null && disabledReason.code !== "disabled_by_operator";
    const field = Object.keys(patch).find((name) => {
      if (name === "disabledReason" || name === "updatedAt") return false;
      // The file says that it is on, and its provider's refusal has switched it off: that is a person's to end.
      if (name === "enabled") return switches.has(id) && !(isRefused && patch.enabled === true);
      return true;
    });
    if (field !== undefined) throw this.#refusal(wireName(field), "This key");
  }

  /** @throws KeywheelError conflict */
  checkRemoval(id: string, what: string): void {
    if (this.isManaged(id)) throw this.#refusal("id", what);
  }

  /** @throws KeywheelError conflict */
  checkToken(id: string, name: string): void {
    if (this.marks.tokens.has(id)) throw this.#refusal("name", `The token ${name}`);
  }

  #refusal(path: string, what: string): KeywheelError {
    const file = this.file ?? "the configuration file";
    const message = `${what} is managed by ${file}, and can be changed only there`;
    const hint = `Change it in ${file}: that is taken up by itself.`;
    const code: FieldFault = "managed_by_file";
    return new KeywheelError("conflict", message, { details: [{ path, message, code }], hint });
  }
}

const wireNames: Readonly<Record<string, string>> = { baseUrl: "base_url", apiKey: "api_key", secret: "api_key" };

function wireName(field: string): string {
  return wireNames[field] ?? field;
}
