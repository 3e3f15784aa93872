import { variableOf } from "../../packages/gateway/src/cli/settings.ts";
import { readStartOptions, type StartOptions, startSettings } from "../../packages/gateway/src/cli/start-options.ts";

/**
 * What the program makes of the variables that a container of our image is given, those of the image included.
 *
 * @throws if it does not know one of them, or refuses its value
 */
export function optionsFrom(variables: Readonly<Record<string, string>>, containerfile: string): StartOptions {
  const environment = { ...variablesOfImage(containerfile), ...variables };
  const known = new Set(Object.values(startSettings).map(variableOf));
  const unknown = Object.keys(environment).filter((name) => name.startsWith("KEYWHEEL_") && !known.has(name));
  if (unknown.length > 0) throw new Error(`no such settings: ${unknown.join(", ")}`);
  return readStartOptions({}, environment);
}

function variablesOfImage(containerfile: string): Record<string, string> {
  const last = containerfile.split(/^FROM /m).at(-1) ?? "";
  return Object.fromEntries(
    [...last.matchAll(/\b([A-Z][A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}
