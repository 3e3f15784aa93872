import type { ConfigExport, ConfigFile } from "../../contract/config-file.ts";
import type { FieldRefusal } from "../../contract/field-faults.ts";
import type { CatalogCore } from "../core.ts";
import type { TokenBook } from "../token-book.ts";
import type { DeclaredGround, DeclaredPlan, DeclaredWarning } from "./declared-plan.ts";
import { exportDeclared } from "./export-declared.ts";
import { marksName, noMarks, readMarks, writeMarks } from "./marks.ts";
import { isNoChange, planDeclared } from "./plan.ts";

/** What became of a file. */
export type Declared =
  | {
      readonly kind: "applied";
      readonly changed: boolean;
      readonly counts: DeclaredCounts;
      readonly warnings: readonly DeclaredWarning[];
    }
  /** Nothing was changed. */
  | { readonly kind: "refused"; readonly problems: readonly FieldRefusal[] };

/** How much of what the file has in its hands, and how much of it has just changed. */
export interface DeclaredCounts {
  readonly providers: number;
  readonly keys: number;
  readonly tokens: number;
  readonly added: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Makes everything as a file of configuration says. */
export class DeclaredBook {
  readonly #core: CatalogCore;
  readonly #tokens: TokenBook;

  constructor(core: CatalogCore, tokens: TokenBook) {
    this.#core = core;
    this.#tokens = tokens;
  }

  /** Where the file is, for those who are told to change it there. */
  set file(file: string | undefined) {
    this.#core.managed.file = file;
  }

  isManaged(id: string): boolean {
    return this.#core.managed.isManaged(id);
  }

  /** Whether a file was ever taken up. */
  get isInUse(): boolean {
    return this.#core.managed.marks.providers.size > 0 || this.#core.managed.marks.tokens.size > 0;
  }

  /** Takes up what files have made before this process was started. */
  async restore(): Promise<void> {
    const core = this.#core;
    core.managed.marks = readMarks(await core.write((store) => store.getMeta(marksName)));
  }

  /** Without a file, what one has made belongs to people again. @returns whether there was anything */
  async release(): Promise<boolean> {
    const core = this.#core;
    return core.inTurn(async () => {
      if (!this.isInUse) return false;
      await core.write((store) => store.setMeta(marksName, undefined));
      core.managed.marks = noMarks;
      return true;
    });
  }

  /**
   * All or nothing, in one transaction; what is as the file says already is left alone: places on the wheel, cooldowns,
   * sessions.
   *
   * @throws KeywheelError store_unavailable
   */
  apply(config: ConfigFile): Promise<Declared> {
    const core = this.#core;
    return core.alone(async () => {
      core.deps.environment.check();
      const plan = planDeclared(this.#ground(), core.managed.marks, config);
      if (plan.problems.length > 0) return { kind: "refused", problems: plan.problems };
      const marks = writeMarks(plan.marks);
      const changed = !isNoChange(plan);
      if (changed || marks !== writeMarks(core.managed.marks)) {
        await core.write((store) => store.changeConfiguration({ ...plan.change, meta: { [marksName]: marks } }));
        core.managed.marks = plan.marks;
        await core.catchUp();
      }
      return { kind: "applied", changed, counts: countsOf(plan), warnings: plan.warnings };
    });
  }

  /** All there is as a file of configuration, without a secret. */
  export(): ConfigExport {
    return exportDeclared([...this.#core.entries()], this.#tokens.list(), this.#ground());
  }

  #ground(): DeclaredGround {
    const core = this.#core;
    return {
      allowPrivateMetadata: core.deps.allowPrivateMetadata,
      newId: core.newId,
      now: () => core.now(),
      bySlug: (slug) => core.bySlug(slug),
      byId: (id) => core.find(id),
      tokens: () => this.#tokens.list(),
      resolve: (name) => core.deps.environment.resolve(name),
    };
  }
}

function countsOf({ change, marks }: DeclaredPlan): DeclaredCounts {
  const { insertedProviders, insertedKeys, insertedTokens, updatedProviders, updatedKeys, updatedTokens } = change;
  return {
    providers: marks.providers.size,
    keys: marks.keys.size,
    tokens: marks.tokens.size,
    added: insertedProviders.length + insertedKeys.length + insertedTokens.length,
    updated: updatedProviders.length + updatedKeys.length + updatedTokens.length,
    deleted: change.deletedProviders.length + change.deletedKeys.length + change.deletedTokens.length,
  };
}

/** What is wrong with a file, and what to know of it, on a gateway that has nothing yet. */
export function checkDeclared(
  config: ConfigFile,
  options: Pick<DeclaredGround, "allowPrivateMetadata" | "resolve">,
): Pick<DeclaredPlan, "problems" | "warnings"> {
  let ids = 0;
  return planDeclared(
    {
      ...options,
      newId: (prefix) => `${prefix}_${ids++}`,
      now: () => 0,
      bySlug: () => undefined,
      byId: () => undefined,
      tokens: () => [],
    },
    noMarks,
    config,
  );
}
