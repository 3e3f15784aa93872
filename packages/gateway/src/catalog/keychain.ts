import { execFile } from "node:child_process";
import { platform } from "node:os";
import type { Resolution } from "./environment.ts";
import { readValue } from "./read-value.ts";

/** Every entry that is read belongs to this service: whoever may add a key must not reach the rest of the keychain. */
const service = "keywheel";
const patienceMs = 15_000;
/** A keychain may ask its user; it is not asked more often than this. */
const askEveryMs = 60_000;

export interface KeychainOptions {
  /** Called when the answer for an entry may have changed. */
  readonly onChange: () => void;
  /** A monotonic reading, ms. */
  readonly now: () => number;
  /** Default: that of this machine. */
  readonly platform?: NodeJS.Platform;
  /** Default: the process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * The keychain of the operating system, by the tool that comes with it: `security` on macOS, `secret-tool` (libsecret)
 * elsewhere. It answers later: until then an entry is not there yet.
 */
export class Keychain {
  readonly #options: KeychainOptions;
  readonly #known = new Map<string, { askedAt: number; resolution: Resolution }>();

  constructor(options: KeychainOptions) {
    this.#options = options;
  }

  resolve(account: string): Resolution {
    const now = this.#options.now();
    const known = this.#known.get(account);
    if (known !== undefined && now - known.askedAt < askEveryMs) return known.resolution;
    const waiting: Resolution = { kind: "unset", message: `The keychain is asked for ${service}/${account}` };
    const entry = { askedAt: now, resolution: known?.resolution ?? waiting };
    this.#known.set(account, entry);
    void this.#ask(account).then(({ isCertain, resolution }) => {
      // One that does not answer just now takes nothing away.
      if (isCertain || entry.resolution === waiting) entry.resolution = resolution;
      this.#options.onChange();
    });
    return entry.resolution;
  }

  /** Never rejects. */
  async #ask(account: string): Promise<{ readonly resolution: Resolution; readonly isCertain: boolean }> {
    const isMac = (this.#options.platform ?? platform()) === "darwin";
    const [tool, words] = isMac
      ? (["security", ["find-generic-password", "-s", service, "-a", account, "-w"]] as const)
      : (["secret-tool", ["lookup", "service", service, "account", account]] as const);
    const answer = await this.#run(tool, words);
    if (answer.error === null && answer.stdout !== "") {
      const resolution = readValue(`The keychain entry ${service}/${account}`, answer.stdout);
      return { resolution, isCertain: true };
    }
    const failure = { ...answer, tool, account };
    const isCertain = hasNone(failure) && !(tool === "secret-tool" && (await this.#isThere(account)));
    const message = hasNone(failure) && !isCertain ? isLocked(account) : whyNot(failure);
    return { resolution: { kind: "unset", message }, isCertain };
  }

  /** Of a locked keychain `lookup` says nothing, as if there were no such entry; what it has is told by `search` alone. */
  async #isThere(account: string): Promise<boolean> {
    const { stdout, stderr } = await this.#run("secret-tool", ["search", "service", service, "account", account]);
    return stdout !== "" || stderr.includes("locked");
  }

  #run(tool: string, words: readonly string[]): Promise<Answer> {
    const env = { ...(this.#options.environment ?? process.env) };
    return new Promise((resolve) => {
      execFile(tool, words, { timeout: patienceMs, maxBuffer: 65_536, env }, (error, stdout, stderr) => {
        resolve({ error, stdout, stderr });
      });
    });
  }
}

interface Answer {
  readonly error: Error | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Failure extends Pick<Answer, "error" | "stderr"> {
  readonly tool: string;
  readonly account: string;
}

/** Whether the keychain has answered, and has no such entry. */
function hasNone({ error, stderr }: Failure): boolean {
  const isGone =
    error !== null && (("code" in error && error.code === "ENOENT") || ("killed" in error && error.killed === true));
  // Both tools end with a code and without a word, or with this one.
  return !isGone && (stderr.trim() === "" || /could not be found/.test(stderr));
}

function isLocked(account: string): string {
  return `The keychain is locked, and has ${service}/${account}: unlock it, as by signing in at the desktop`;
}

function whyNot({ error, stderr, tool, account }: Failure): string {
  if (error !== null && "code" in error && error.code === "ENOENT") {
    const hint = tool === "secret-tool" ? " (libsecret-tools). On a server use `file:/path` or `$NAME` instead" : "";
    return `There is no keychain on this machine: ${tool} is not installed${hint}`;
  }
  if (error !== null && "killed" in error && error.killed === true) {
    return `The keychain did not answer within ${patienceMs / 1000} s`;
  }
  if (hasNone({ error, stderr, tool, account })) return `The keychain has no entry ${service}/${account}`;
  const [said = ""] = stderr.trim().split("\n");
  return `There is no keychain that answers here: ${said.slice(0, 200).replace(/\.$/, "")}`;
}
