import { readFileSync, statSync } from "node:fs";
import { reasonOf } from "../../store/private-files.ts";
import { judgeConfig } from "../commands/config.ts";
import { counted } from "../commands/words.ts";
import { lineOf } from "../config-file/config-file.ts";
import type { Environment } from "../settings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const name = "configuration_file";
/** More than these are for `keywheel config check`. */
const mostShown = 3;
/** Whoever may write it decides where keys are sent. */
const writtenByOthers = 0o022;

/**
 * Whether a `keywheel.yaml` can be taken up as it is, its references have values (files of secrets can be read), and nobody else
 * can change it. Names no value.
 *
 * @param flags what the gateway is started with: where variables and files of secrets are
 */
export async function checkConfigFile(
  file: string,
  environment: Environment,
  flags: object,
): Promise<readonly Check[]> {
  let text: string;
  let mode: number;
  try {
    text = readFileSync(file, "utf8");
    ({ mode } = statSync(file));
  } catch (error) {
    const advice = "Let the user that runs the gateway read it, or name another file with --config.";
    return [fail(name, `${file} cannot be read: ${reasonOf(error)}.`, advice)];
  }
  const { mistakes, warnings, missing, counts } = await judgeConfig(text, environment, flags);
  const more = `\`keywheel config check ${file}\` shows all of it.`;
  const checks: Check[] = [];
  if (mistakes.length > 0) {
    const advice = `Put it right: no gateway takes up any of it before. ${more}`;
    checks.push(fail(name, `${file} has ${counted(mistakes.length, "mistake")}: ${shown(mistakes)}.`, advice));
  }
  if (warnings.length > 0) checks.push(warn(name, `Of ${file}: ${shown(warnings)}.`, `The rest of it works. ${more}`));
  if (missing.length > 0) {
    const advice = "Set them for the gateway, or let it read the files: those keys serve nobody until then.";
    checks.push(warn(name, `Keys of ${file} have no value here: ${some(missing)}.`, advice));
  }
  if ((mode & writtenByOthers) !== 0) {
    const advice = `Close it to them: chmod go-w ${file}. Whoever changes it decides where your keys are sent.`;
    checks.push(warn(name, `Other users of this machine may write ${file}.`, advice));
  }
  const { providers = 0, keys = 0 } = counts;
  if (checks.length > 0) return checks;
  return [ok(name, `${file} is right: ${counted(providers, "provider")}, ${counted(keys, "key")}.`)];
}

function shown(lines: readonly Parameters<typeof lineOf>[0][]): string {
  return some(lines.map(lineOf));
}

/** The first of some sentences, in one. */
function some(sentences: readonly string[]): string {
  const first = sentences.slice(0, mostShown).map((sentence) => sentence.replace(/\.$/, ""));
  return [...first, ...(sentences.length > mostShown ? [`and ${sentences.length - mostShown} more`] : [])].join("; ");
}
