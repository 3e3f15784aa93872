import type { FieldRefusal } from "../../contract/field-faults.ts";
import type { ConfigurationChange, TokenRecord } from "../../store/store.ts";
import type { Resolution } from "../environment.ts";
import type { ProviderEntry } from "../provider-entry.ts";
import type { RecordGround } from "../provider-record.ts";
import type { Marks } from "./marks.ts";

/** What a file meets: what is there, and what its references come to. */
export interface DeclaredGround extends Omit<RecordGround, "hasSlug"> {
  readonly bySlug: (slug: string) => ProviderEntry | undefined;
  readonly byId: (id: string) => ProviderEntry | undefined;
  readonly tokens: () => readonly TokenRecord[];
  /** What a reference comes to, by its name. */
  readonly resolve: (name: string) => Resolution;
}

/** Something that works, and that a person may want to know. */
export interface DeclaredWarning {
  readonly path: string;
  readonly message: string;
}

/** What a file comes to, before anything of it is done. */
export interface DeclaredPlan {
  readonly change: MutableChange;
  readonly marks: { readonly [Name in keyof Marks]: Set<string> };
  readonly problems: FieldRefusal[];
  readonly warnings: DeclaredWarning[];
}

type MutableChange = {
  readonly [Name in Exclude<keyof ConfigurationChange, "meta">]: ConfigurationChange[Name] extends readonly (infer T)[]
    ? T[]
    : never;
};

export function literalWarning(path: string): DeclaredWarning {
  return {
    path,
    message: "A key itself stands in the file: whoever can read the file has it. Better `$NAME` or `file:/path`",
  };
}
