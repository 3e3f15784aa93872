import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "../scripts/lib/debian.mjs";

const find = (...names: readonly string[]): string | undefined =>
  names.flatMap((name) => [...foldersOnPath(), "/usr/sbin"].map((folder) => join(folder, name))).find(isExecutable);

interface Wanted {
  readonly name: string;
  readonly programs: readonly string[];
  readonly debianPackage: string | readonly string[];
}

/** Finds a program of the system, and installs it where there is none and that can be done. @throws with what a person has to do */
async function ensured({ name, programs, debianPackage }: Wanted): Promise<string> {
  const [program = ""] = programs;
  const otherwise = `The benchmark needs ${name}, and there is none here: install a package that has \`${program}\`.`;
  await ensureProgram({ name, use: "the benchmark", debianPackage, find: () => find(...programs), otherwise });
  const path = find(...programs);
  if (path === undefined) throw new Error(otherwise);
  return path;
}

export function ensureCompiler(): Promise<string> {
  return ensured({ name: "a C compiler", programs: ["gcc", "cc"], debianPackage: ["gcc", "libc6-dev"] });
}

export function ensureNginx(): Promise<string> {
  return ensured({ name: "nginx", programs: ["nginx"], debianPackage: "nginx-light" });
}

/** Makes a certificate for localhost and 127.0.0.1, good for a day. @returns the paths of its files */
export async function makeCertificate(folder: string): Promise<{ certificate: string; key: string }> {
  const openssl = await ensured({ name: "OpenSSL", programs: ["openssl"], debianPackage: "openssl" });
  const [certificate, key] = [join(folder, "certificate.pem"), join(folder, "key.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  execFileSync(openssl, ["req", ...kind, ...names, "-keyout", key, "-out", certificate], { stdio: "ignore" });
  return { certificate, key };
}
