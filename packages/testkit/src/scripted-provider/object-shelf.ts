import type { MadeObject, ObjectShelf } from "./dialects/dialect.ts";

/** An empty shelf. */
export function createObjectShelf(): ObjectShelf {
  const objects = new Map<string, MadeObject>();
  let made = 0;
  const find = (id: string, owner: string | undefined): MadeObject | undefined => {
    const object = objects.get(id);
    return object?.owner === owner ? object : undefined;
  };
  return {
    newId: (prefix) => `${prefix}${String(++made).padStart(8, "0")}`,
    add: (object) => void objects.set(object.id, object),
    find,
    list: (kind, owner) => [...objects.values()].filter((object) => object.kind === kind && object.owner === owner),
    remove: (id, owner) => find(id, owner) !== undefined && objects.delete(id),
  };
}
