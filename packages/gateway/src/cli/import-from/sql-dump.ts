import { failed } from "../exit.ts";
import { type Fields, numberOf } from "./parts.ts";
import { SqlScanner, type SqlValue } from "./sql-scanner.ts";
import type { Tables } from "./tables.ts";

/**
 * Tables of a dump as `mysqldump`, `mariadb-dump`, phpMyAdmin and `pg_dump` write it: `CREATE TABLE` for the names of the
 * columns, then `INSERT` or, by PostgreSQL, `COPY`.
 *
 * @param wanted tables that are read; all else is passed over
 * @returns undefined for what is no dump
 * @throws CommandError (1) for a dump that is cut short, one of SQLite, or one whose rows have no names
 */
export function tablesOfDump(text: string, file: string, wanted: readonly string[]): Tables | undefined {
  if (!/^\s*(INSERT INTO|CREATE TABLE|COPY) /m.test(text)) return undefined;
  if (/^PRAGMA foreign_keys=OFF;/m.test(text)) {
    throw failed(`${file} is a dump of a SQLite database. Name the database file itself.`);
  }
  if (isCutShort(text)) throw cutShort(file);
  const dump = new Dump(new SqlScanner(text, isOfMySql(text)), file, new Set(wanted));
  dump.read();
  return dump.tables();
}

const endOf = [
  [/^-- (MySQL|MariaDB) dump /m, /^-- Dump completed/m],
  [/^-- PostgreSQL database dump$/m, /^-- PostgreSQL database dump complete$/m],
] as const;

/** What says where it begins says where it ends; a part that was cut out of a dump says neither. */
function isCutShort(text: string): boolean {
  const [head, tail] = [text.slice(0, 2048), text.slice(-2048)];
  return endOf.some(([begin, end]) => begin.test(head) && !end.test(tail));
}

function isOfMySql(text: string): boolean {
  return /^-- (MySQL|MariaDB) dump |^\s*(CREATE TABLE|INSERT INTO) (IF NOT EXISTS )?`/m.test(text);
}

function cutShort(file: string): Error {
  return failed(`${file} ends in the middle: the dump was cut short. Make it again.`);
}

class Dump {
  readonly #scanner: SqlScanner;
  readonly #file: string;
  readonly #wanted: ReadonlySet<string>;
  readonly #columns = new Map<string, readonly string[]>();
  readonly #rows = new Map<string, Fields[]>();

  constructor(scanner: SqlScanner, file: string, wanted: ReadonlySet<string>) {
    this.#scanner = scanner;
    this.#file = file;
    this.#wanted = wanted;
  }

  tables(): Tables {
    const rows = (table: string): readonly Fields[] =>
      (this.#rows.get(table) ?? []).toSorted((a, b) => (numberOf(a["id"]) ?? 0) - (numberOf(b["id"]) ?? 0));
    return {
      has: (table) => this.#columns.has(table) || this.#rows.has(table),
      rows,
      count: (table) => this.#rows.get(table)?.length ?? 0,
    };
  }

  read(): void {
    while (!this.#scanner.isAtEnd()) this.#statement();
  }

  #statement(): void {
    const scanner = this.#scanner;
    if (scanner.takeWords("CREATE", "TABLE")) {
      scanner.takeWords("IF", "NOT", "EXISTS");
      const table = scanner.name();
      if (this.#isWanted(table)) this.#columns.set(table, scanner.columns() ?? []);
    } else if (scanner.takeWords("INSERT", "INTO")) {
      const table = scanner.name();
      if (this.#isWanted(table)) this.#inserted(table);
    } else if (scanner.takeWords("COPY")) {
      this.#copied(scanner.name());
      return;
    }
    if (!scanner.skipStatement()) throw cutShort(this.#file);
  }

  #isWanted(table: string | undefined): table is string {
    return table !== undefined && this.#wanted.has(table);
  }

  #inserted(table: string): void {
    const scanner = this.#scanner;
    const columns = scanner.columns() ?? this.#columns.get(table);
    if (!scanner.takeWords("VALUES")) return;
    do {
      const values = scanner.values();
      if (values === undefined) throw this.#noValue(table);
      this.#add(table, columns, values);
    } while (scanner.takeComma());
  }

  #copied(table: string | undefined): void {
    const scanner = this.#scanner;
    const columns = scanner.columns() ?? (table === undefined ? undefined : this.#columns.get(table));
    if (!scanner.skipStatement()) throw cutShort(this.#file);
    for (;;) {
      const line = scanner.line();
      if (line === undefined) throw cutShort(this.#file);
      if (line === "\\.") return;
      if (this.#isWanted(table)) this.#add(table, columns, line.split("\t").map(copiedValue));
    }
  }

  #noValue(table: string): Error {
    if (this.#scanner.isAtEnd()) return cutShort(this.#file);
    return failed(`${this.#file} has something in the rows of \`${table}\` that is no text, number or NULL.`);
  }

  #add(table: string, columns: readonly string[] | undefined, values: readonly SqlValue[]): void {
    if (columns === undefined) {
      throw failed(
        `${this.#file} does not name the columns of \`${table}\`. Make the dump with the structure of the table, or with --complete-insert.`,
      );
    }
    if (columns.length !== values.length) {
      throw failed(
        `${this.#file} is damaged: a row of \`${table}\` has ${values.length} values for ${columns.length} columns.`,
      );
    }
    const rows = this.#rows.get(table) ?? [];
    rows.push(Object.fromEntries(columns.map((column, index) => [column, values[index]])));
    this.#rows.set(table, rows);
  }
}

const copyEscapes: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** @see https://www.postgresql.org/docs/current/sql-copy.html "Text Format" */
function copiedValue(text: string): SqlValue {
  if (text === "\\N") return null;
  return text.replaceAll(/\\(.)/g, (_, letter: string) => copyEscapes[letter] ?? letter);
}
