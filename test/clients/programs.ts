import { join } from "node:path";
import { clients as folder } from "../../scripts/lib/side-install.mjs";
import type { AnsweringKind } from "./answers.ts";

/** A program that people use the gateway with, as it is started without anybody in front of it. */
export interface ClientProgram {
  /** For `keywheel connect`, and of its page in docs/clients. */
  readonly id: string;
  readonly kind: AnsweringKind;
  /** Asks something, in a new session. */
  readonly ask: (prompt: string) => readonly string[];
  /** Asks something more in the session that was used last. */
  readonly goOn: (prompt: string) => readonly string[];
  /** The header by which it names its session; undefined where it names none, and its conversations are recognised. */
  readonly carrier: string | undefined;
  /** Path of the requests that carry the conversation itself, behind the provider's slug. */
  readonly conversing: RegExp;
  /** Switches off what it would look for in the network besides; none of it is needed. */
  readonly environment: Readonly<Record<string, string>>;
}

export const programs: readonly ClientProgram[] = [
  {
    id: "claude-code",
    kind: "anthropic",
    ask: (prompt) => ["claude", "-p", prompt],
    goOn: (prompt) => ["claude", "-p", "--continue", prompt],
    carrier: "x-claude-code-session-id",
    conversing: /\/messages$/,
    environment: { DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1" },
  },
  {
    id: "codex",
    kind: "openai",
    ask: (prompt) => ["codex", "exec", "--skip-git-repo-check", prompt],
    goOn: (prompt) => ["codex", "exec", "--skip-git-repo-check", "resume", "--last", prompt],
    carrier: "session-id",
    conversing: /\/responses$/,
    environment: {},
  },
  {
    id: "gemini-cli",
    kind: "gemini",
    ask: (prompt) => ["gemini", "--skip-trust", "-p", prompt],
    goOn: (prompt) => ["gemini", "--skip-trust", "--resume", "latest", "-p", prompt],
    carrier: undefined,
    conversing: /:streamGenerateContent$/,
    environment: {},
  },
  {
    id: "opencode",
    kind: "anthropic",
    ask: (prompt) => ["opencode", "run", "--model", "anthropic/claude-sonnet-4-5", prompt],
    goOn: (prompt) => ["opencode", "run", "--continue", "--model", "anthropic/claude-sonnet-4-5", prompt],
    carrier: "x-session-id",
    conversing: /\/messages$/,
    environment: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
  },
];

/** Where the programs lie that `npm run test:clients` installs. */
export const programFolder = join(folder, "node_modules", ".bin");
