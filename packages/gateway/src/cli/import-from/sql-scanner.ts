/** What stands in a row of a dump. */
export type SqlValue = string | number | boolean | null;

/** Reads SQL as dumps have it, from front to back, one token at a time. */
export class SqlScanner {
  readonly #text: string;
  /** Whether a backslash means something in a text, as to MySQL, and to PostgreSQL only behind an `E`. */
  readonly #hasBackslashes: boolean;
  #at = 0;

  constructor(text: string, hasBackslashes: boolean) {
    this.#text = text;
    this.#hasBackslashes = hasBackslashes;
  }

  isAtEnd(): boolean {
    this.#skipBlank();
    return this.#at >= this.#text.length;
  }

  /** Takes these words if they come next, all or none. */
  takeWords(...words: readonly string[]): boolean {
    const start = this.#at;
    for (const word of words) {
      this.#skipBlank();
      if (this.#match(/[A-Za-z_]+/y)?.toUpperCase() === word) continue;
      this.#at = start;
      return false;
    }
    return true;
  }

  takeComma(): boolean {
    return this.#take(",");
  }

  /** A name without its schema; undefined if none comes next. */
  name(): string | undefined {
    const name = this.#oneName();
    return name !== undefined && this.#take(".") ? this.#oneName() : name;
  }

  /**
   * The names in a list of columns, or in the parentheses of `CREATE TABLE`, where keys and constraints stand among them:
   * those are words in capitals that no quotes make a name of.
   *
   * @returns undefined if no list comes next
   */
  columns(): string[] | undefined {
    if (!this.#take("(")) return undefined;
    const names: string[] = [];
    do {
      this.#skipBlank();
      const isName = !/(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FOREIGN|CHECK|FULLTEXT|SPATIAL|EXCLUDE|LIKE)\b/y.test(
        this.#text.slice(this.#at, this.#at + 12),
      );
      const name = isName ? this.#oneName() : undefined;
      if (name !== undefined) names.push(name);
      this.#skipTo(",)");
    } while (this.#take(","));
    this.#take(")");
    return names;
  }

  /** One row in its parentheses; undefined where it is cut off, or has something in it that is no value. */
  values(): SqlValue[] | undefined {
    if (!this.#take("(")) return undefined;
    const values: SqlValue[] = [];
    do {
      const value = this.#value();
      if (value === undefined) return undefined;
      values.push(value);
    } while (this.#take(","));
    return this.#take(")") ? values : undefined;
  }

  /** @returns whether there was an end of it */
  skipStatement(): boolean {
    this.#skipTo(";");
    return this.#take(";");
  }

  /** The rest of this line if anything is on it, or the next; undefined at the end. */
  line(): string | undefined {
    if (this.#text[this.#at] === "\r") this.#at += 1;
    if (this.#text[this.#at] === "\n") this.#at += 1;
    if (this.#at >= this.#text.length) return undefined;
    const end = this.#text.indexOf("\n", this.#at);
    const line = this.#text.slice(this.#at, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#text.length : end;
    return line.replace(/\r$/, "");
  }

  #value(): SqlValue | undefined {
    this.#skipBlank();
    // `_binary '…'`, `_utf8mb4 '…'`
    this.#match(/_[a-z0-9]+\s*(?=')/y);
    const isEscaped = this.#match(/E(?=')/y) !== undefined || this.#hasBackslashes;
    if (this.#text[this.#at] === "'") return this.#quoted(isEscaped);
    const hex = this.#match(/0x[0-9A-Fa-f]*/y);
    if (hex !== undefined) return Buffer.from(hex.slice(2), "hex").toString("utf8");
    const number = this.#match(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y);
    if (number !== undefined) return Number(number);
    const word = this.#match(/[A-Za-z]+/y)?.toUpperCase();
    if (word === "NULL") return null;
    return word === "TRUE" || word === "FALSE" ? word === "TRUE" : undefined;
  }

  #quoted(isEscaped: boolean): string | undefined {
    const start = this.#at + 1;
    if (!this.#skipText("'", isEscaped)) return undefined;
    const text = this.#text.slice(start, this.#at - 1);
    if (!isEscaped) return text.replaceAll("''", "'");
    return text.replaceAll(/''|\\([^])/g, (_, letter?: string) =>
      letter === undefined ? "'" : (mySqlEscapes[letter] ?? letter),
    );
  }

  #oneName(): string | undefined {
    this.#skipBlank();
    const quote = this.#text[this.#at];
    if (quote !== "`" && quote !== '"') return this.#match(/[A-Za-z_][\w$]*/y);
    const start = this.#at + 1;
    if (!this.#skipText(quote, false)) return undefined;
    return this.#text.slice(start, this.#at - 1).replaceAll(quote + quote, quote);
  }

  #take(sign: string): boolean {
    this.#skipBlank();
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  /** To the next of these signs that is not in quotes, in a comment or in parentheses; or to the end. */
  #skipTo(signs: string): void {
    for (let depth = 0; !this.isAtEnd();) {
      const sign = this.#text[this.#at] ?? "";
      if (depth === 0 && signs.includes(sign)) return;
      if (sign === "'" || sign === '"' || sign === "`") this.#skipText(sign, sign !== "`" && this.#hasBackslashes);
      else if (this.#match(/\$\w*\$/y) !== undefined) this.#skipBody();
      else this.#match(/[^'"`$();,/#\-\s]+|[^]/y);
      if (sign === "(") depth += 1;
      if (sign === ")") depth = Math.max(0, depth - 1);
    }
  }

  /** The body of a function, between `$$` or `$name$`. */
  #skipBody(): void {
    const [tag = ""] = /\$\w*\$$/.exec(this.#text.slice(Math.max(0, this.#at - 80), this.#at)) ?? [];
    const end = this.#text.indexOf(tag, this.#at);
    this.#at = end < 0 ? this.#text.length : end + tag.length;
  }

  /** @returns whether there was an end of it */
  #skipText(quote: string, isEscaped: boolean): boolean {
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const sign = this.#text[at];
      if (sign === "\\" && isEscaped) at += 1;
      else if (sign === quote && this.#text[at + 1] === quote) at += 1;
      else if (sign === quote) {
        this.#at = at + 1;
        return true;
      }
    }
    this.#at = this.#text.length;
    return false;
  }

  /** White space, what is for psql (`\\restrict …`), and comments, those that MySQL runs (`/*!…`) as well: none has rows in it. */
  #skipBlank(): void {
    while (this.#match(/\s+|--[^\n]*|#[^\n]*|\\\w[^\n]*|\/\*/y) !== undefined) {
      if (this.#text.slice(this.#at - 2, this.#at) !== "/*") continue;
      const end = this.#text.indexOf("*/", this.#at);
      this.#at = end < 0 ? this.#text.length : end + 2;
    }
  }
}

/** @see https://dev.mysql.com/doc/refman/8.4/en/string-literals.html */
const mySqlEscapes: Readonly<Record<string, string>> = {
  0: "\0",
  b: "\b",
  n: "\n",
  r: "\r",
  t: "\t",
  Z: "\u001a",
};
