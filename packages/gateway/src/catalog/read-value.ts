import { readVariable, Secret } from "@keywheel/pool";
import type { Resolution } from "./environment.ts";

/** What a raw text comes to: cleaned as a pasted key is, or why it cannot be sent. @param where begins the sentence */
export function readValue(where: string, raw: string | undefined): Resolution {
  const name = "NAME";
  const read = readVariable(name, raw);
  if (read.kind === "resolved") return { kind: "resolved", value: new Secret(read.value) };
  return { ...read, message: read.message.replace(`The environment variable ${name}`, where) };
}
