import { readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import type { Resolution } from "./environment.ts";
import { readValue } from "./read-value.ts";

export interface SecretFilesOptions {
  /** Files in these folders, and below, may be read. */
  readonly folders: readonly string[];
  /** Files in these may not, whatever the others say: what lies there is no key of a provider. */
  readonly closed: readonly string[];
}

/** No key is so long; whatever is, is no secret's file. */
const maxFileBytes = 65_536;

/**
 * What `file:/path` comes to: the text of the file, cleaned as a pasted key is.
 *
 * Whoever may add a key could have any file sent to a provider of theirs, so only files in the folders for secrets are read,
 * links followed before that is judged.
 */
export class SecretFiles {
  readonly #options: SecretFilesOptions;
  /** Read again when its mark changes. */
  readonly #read = new Map<string, { readonly mark: string; readonly resolution: Resolution }>();

  constructor(options: SecretFilesOptions) {
    this.#options = options;
  }

  resolve(path: string): Resolution {
    try {
      // A turned link leads elsewhere without any change of the file.
      const real = realpathSync(path);
      const { mtimeMs, ctimeMs, size, ino, dev } = statSync(real);
      const mark = `${real} ${mtimeMs} ${ctimeMs} ${size} ${ino} ${dev}`;
      const known = this.#read.get(path);
      if (known?.mark === mark) return known.resolution;
      const resolution = this.#resolve(path, real, size);
      this.#read.set(path, { mark, resolution });
      return resolution;
    } catch (error) {
      this.#read.delete(path);
      return { kind: "unset", message: `The file ${path} cannot be read: ${wordsOf(error)}` };
    }
  }

  #resolve(path: string, real: string, size: number): Resolution {
    const { folders, closed } = this.#options;
    if (!isWithin(real, folders) || isWithin(real, closed)) {
      const shown = folders.length === 0 ? "" : ` (${folders.join(", ")})`;
      const message =
        `The file ${path} is not in a folder for secrets${shown}: start the gateway with --secrets-dir and the folder ` +
        "that it is in (KEYWHEEL_SECRETS_DIR)";
      return { kind: "unset", message };
    }
    if (size > maxFileBytes) return { kind: "unsendable", message: `The file ${path} is too large to be a key` };
    return readValue(`The file ${path}`, readFileSync(real, "utf8"));
  }
}

function isWithin(real: string, folders: readonly string[]): boolean {
  return folders.some((folder) => {
    const root = realOf(folder);
    return root !== undefined && real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
  });
}

function realOf(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    // A folder that is not there has no files.
    return undefined;
  }
}

/** Docker's, Podman's and Swarm's place for them. */
export const defaultSecretFolders: readonly string[] = ["/run/secrets"];

/** What must not go to a provider: the gateway's own, and what a pod signs in to its cluster with. */
export function closedFolders(dataDir: string): readonly string[] {
  return [dataDir, join("/run/secrets", "kubernetes.io"), join("/var/run/secrets", "kubernetes.io")];
}

const systemWords: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "the gateway may not read it",
  EISDIR: "it is a folder",
  ENOTDIR: "there is no such file",
  ELOOP: "its links lead in a circle",
};

function wordsOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  return systemWords[code] ?? code;
}
