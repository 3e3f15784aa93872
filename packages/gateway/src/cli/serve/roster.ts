/** What can stand in a roster, in one at a time. */
export interface Listed {
  /** Where it stands; kept by the roster. */
  place: number;
}

/**
 * What is under way, in no order.
 *
 * No `Set`: with every few dozen that came and went, a set makes itself a new table, to which the old one keeps pointing. Once
 * the collector takes one of them for old, it keeps all that follow, and every request that ever stood in one, until it next
 * goes through everything.
 */
export class Roster<Item extends Listed> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** May be called twice. */
  remove(item: Item): void {
    const items = this.#items;
    if (items[item.place] !== item) return;
    const last = items.pop();
    if (last === undefined || last === item) return;
    items[item.place] = last;
    last.place = item.place;
  }

  /** Those that stand in it now, whatever happens to it meanwhile. */
  list(): readonly Item[] {
    return [...this.#items];
  }
}
