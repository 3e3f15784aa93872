import { parseArgs } from "node:util";

export interface Options {
  /** Names of workloads; undefined: all. */
  readonly only: readonly string[] | undefined;
  /** Names of contenders; undefined: all. */
  readonly contenders: readonly string[] | undefined;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly firstWarmSeconds: number;
  readonly manySessions: number;
  /** Judged by the short targets, which end the run with 1 when one is missed. */
  readonly isShort: boolean;
  /** Results go into the pages of the repository as well. */
  readonly isPublished: boolean;
  /** Where results go; undefined: `bench/.last`. */
  readonly out: string | undefined;
}

const short = {
  only: "1k64,100k,streams200",
  contenders: "undici,keywheel",
  rounds: "3",
  seconds: "2",
  warm: "1",
  "first-warm": "2",
};
const full = { only: undefined, contenders: undefined, rounds: "5", seconds: "5", warm: "2", "first-warm": "8" };

export const usage = `npm run bench -- [options]

  --only NAMES         workloads, with commas between (default: all)
  --contenders NAMES   with commas between (default: all)
  --rounds NUMBER      how often each is measured (default: 5)
  --seconds NUMBER     measured in each turn (default: 5)
  --warm NUMBER        seconds of load before, in each turn (default: 2)
  --first-warm NUMBER  seconds of load once, after a start (default: 8)
  --sessions NUMBER    bound in the workload of many sessions (default: 1000000)
  --short              a minute; fails where a ratio has about halved
  --publish            write bench/RESULTS.md, bench/results.json, docs/performance.md and its charts
  --out FOLDER         where results go (default: bench/.last)
`;

/**
 * Reads the words of the command line.
 *
 * @param known what there is to choose from
 * @throws Error that says what is wrong with them
 */
export function readOptions(
  words: readonly string[],
  known: { readonly workloads: readonly string[]; readonly contenders: readonly string[] },
): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: text,
      contenders: text,
      rounds: text,
      seconds: text,
      warm: text,
      "first-warm": text,
      sessions: text,
      short: flag,
      publish: flag,
      out: text,
    },
  });
  const usual = values.short ? short : full;
  return {
    only: namesOf("only", values.only ?? usual.only, known.workloads),
    contenders: namesOf("contenders", values.contenders ?? usual.contenders, known.contenders),
    rounds: numberOf("rounds", values.rounds ?? usual.rounds, 1, true),
    seconds: numberOf("seconds", values.seconds ?? usual.seconds, 0.2),
    warmSeconds: numberOf("warm", values.warm ?? usual.warm, 0),
    firstWarmSeconds: numberOf("first-warm", values["first-warm"] ?? usual["first-warm"], 0.2),
    manySessions: numberOf("sessions", values.sessions ?? "1000000", 1_000, true),
    isShort: values.short,
    isPublished: values.publish,
    out: values.out,
  };
}

function namesOf(option: string, text: string | undefined, known: readonly string[]): readonly string[] | undefined {
  const names = text?.split(",").map((name) => name.trim());
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new Error(`Expected \`--${option}\` to name some of ${known.join(", ")}; got ${JSON.stringify(unknown)}`);
}

function numberOf(option: string, text: string, least: number, isWhole = false): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= least && value <= 1e7 && (!isWhole || Number.isInteger(value))) return value;
  const kind = isWhole ? "a whole number" : "a number";
  throw new Error(`Expected \`--${option}\` to be ${kind} from ${least} to 10000000; got ${JSON.stringify(text)}`);
}
