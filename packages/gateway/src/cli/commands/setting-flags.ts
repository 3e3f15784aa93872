import { wrongWords } from "../exit.ts";

type Group = Record<string, unknown>;

/**
 * Settings as they are patched, from `cooldown.base_ms=30000` and the like. `default` brings the default back.
 *
 * What a value may be is the control plane's to say; here it is told apart whether it is a number, a truth or a word.
 */
export function readSettingFlags(flags: readonly string[]): Group {
  const settings: Group = {};
  for (const flag of flags) {
    const match = /^([a-z_]+)(?:\.([a-z_]+))?=(.+)$/s.exec(flag);
    if (match === null)
      throw wrongWords(`Expected \`--setting\` to be <name>=<value>, such as cooldown.base_ms=30000, got "${flag}".`);
    const [, outer = "", inner, text = ""] = match;
    if (inner === undefined) settings[outer] = valueOf(text);
    else settings[outer] = { ...(settings[outer] as Group | undefined), [inner]: valueOf(text) };
  }
  return settings;
}

function valueOf(text: string): unknown {
  if (text === "default" || text === "null") return null;
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
