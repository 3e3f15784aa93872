import { wrongWords } from "./exit.ts";
import { Unfit } from "./values.ts";

/** One thing that can be set by a flag or by an environment variable. */
export interface Setting<T, D = T> {
  /** `port` is `--port` and `KEYWHEEL_PORT`. */
  readonly name: string;
  /** What stands behind the flag in the help, `<number>`; a switch has nothing. */
  readonly argument?: string;
  readonly description: string;
  /** @throws Unfit */
  readonly parse: (text: string) => T;
  readonly fallback: D;
  /** May be given several times; the values are joined by commas. */
  readonly repeatable?: true;
  /** Never a flag: argv is read by every process of the machine, and stays in shell histories. */
  readonly variableOnly?: true;
  /** A wrong value is not repeated in the message. */
  readonly secret?: true;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

export type ValuesOf<S extends Settings> = {
  readonly [K in keyof S]: ReturnType<S[K]["parse"]> | S[K]["fallback"];
};

/** The environment as a program receives it. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** What stood on the command line: a switch is true or false, a repeatable flag is a list. */
export type Flags = Readonly<Record<string, unknown>>;

export function variableOf(setting: Pick<Setting<unknown>, "name">): string {
  return `KEYWHEEL_${setting.name.toUpperCase().replaceAll("-", "_")}`;
}

/**
 * The values of settings: flag, else variable, else fallback. An empty variable counts as unset.
 *
 * @param flags by the settings' keys
 * @throws CommandError (2) that names every wrong flag and variable, what was expected and what came
 */
export function readSettings<const S extends Settings>(
  settings: S,
  flags: Flags,
  environment: Environment,
): ValuesOf<S> {
  const wrong: string[] = [];
  const values = Object.entries(settings).map(([key, setting]) => {
    try {
      return [key, readOne(setting, flags[key], environment)];
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      wrong.push(error.message);
      return [key, undefined];
    }
  });
  if (wrong.length > 0) throw wrongWords(wrong.join("\n"));
  return Object.fromEntries(values) as ValuesOf<S>;
}

function readOne<T, D>(setting: Setting<T, D>, flag: unknown, environment: Environment): T | D | boolean {
  if (typeof flag === "boolean") return flag;
  if (flag !== undefined) return parse(setting, `--${setting.name}`, textOf(flag));

  const variable = variableOf(setting);
  const text = environment[variable];
  return text === undefined || text.trim() === "" ? setting.fallback : parse(setting, variable, text);
}

function textOf(flag: unknown): string {
  return Array.isArray(flag) ? flag.join(",") : String(flag);
}

class Misfit extends Error {}

function parse<T>(setting: Setting<T, unknown>, name: string, text: string): T {
  try {
    return setting.parse(text);
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    const came = setting.secret ? `${text.length} characters that are not` : JSON.stringify(text);
    throw new Misfit(`Expected \`${name}\` to be ${error.expected}, got ${came}.`);
  }
}
