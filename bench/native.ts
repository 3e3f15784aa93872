import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";

const sources = join(import.meta.dirname, "native");

export interface Native {
  readonly upstream: string;
  readonly load: string;
}

/** Compiles the upstream and the load, where they are older than their sources. @throws with the compiler's words */
export function compileNative(compiler: string, folder: string): Native {
  mkdirSync(folder, { recursive: true });
  return { upstream: compile(compiler, folder, "upstream"), load: compile(compiler, folder, "load") };
}

function compile(compiler: string, folder: string, name: string): string {
  const source = join(sources, `${name}.c`);
  const program = join(folder, name);
  if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) return program;
  execFileSync(compiler, ["-O2", "-Wall", "-Wextra", "-o", program, source], { stdio: "inherit" });
  return program;
}
