/** What a file of configuration has made or taken over: it is the file's to change, and to take away. All are ids. */
export interface Marks {
  readonly providers: ReadonlySet<string>;
  /** Providers whose provider-level key the file names. */
  readonly ownKeys: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
  readonly tokens: ReadonlySet<string>;
  /** Providers and keys of which the file says whether they are enabled. */
  readonly switches: ReadonlySet<string>;
}

/** Under this name they are kept, so that after a restart it is known what a shorter file has left out. */
export const marksName = "declared";

export const noMarks: Marks = {
  providers: new Set(),
  ownKeys: new Set(),
  keys: new Set(),
  tokens: new Set(),
  switches: new Set(),
};

const names = Object.keys(noMarks) as readonly (keyof Marks)[];

export function writeMarks(marks: Marks): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, [...marks[name]].sort()])));
}

/** What a newer version wrote beside it, or nothing at all, is passed over. */
export function readMarks(text: string | undefined): Marks {
  const kept = text === undefined ? {} : (JSON.parse(text) as Record<string, unknown>);
  const setOf = (name: keyof Marks): ReadonlySet<string> => {
    const ids = kept[name];
    return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : []);
  };
  return {
    providers: setOf("providers"),
    ownKeys: setOf("ownKeys"),
    keys: setOf("keys"),
    tokens: setOf("tokens"),
    switches: setOf("switches"),
  };
}
