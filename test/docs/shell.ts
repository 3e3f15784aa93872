import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import {
  type RunningGateway,
  runGateway,
  type ScriptedKind,
  startScriptedProvider,
  testAdminToken,
} from "@keywheel/testkit";
import { root } from "../../scripts/lib/root.mjs";

const execute = promisify(execFile);
const modules = join(root, "node_modules");

/** A piece of shell that a page shows. */
export interface ShownCommands {
  readonly heading: string;
  readonly code: string;
}

/** How a page marks what is typed into a shell. Drawings are `text`. */
export const shellLanguages = ["", "sh"];

/** The pieces of shell of a page, each under its heading. */
export function shellOf(text: string): readonly ShownCommands[] {
  return piecesOf(text, shellLanguages);
}

/**
 * The pieces of a page in one of some languages, each under its heading.
 *
 * @param languages `""`: pieces that name none
 */
export function piecesOf(text: string, languages: readonly string[]): readonly ShownCommands[] {
  let heading = "";
  return [...text.matchAll(/^```(\w*)\n([\s\S]+?)^```$|^#+ (.+)$/gm)].flatMap(([, language = "", code, title]) => {
    if (title !== undefined) heading = title;
    return code === undefined || !languages.includes(language) ? [] : [{ heading, code }];
  });
}

/** A key of nobody's, which the provider knows. */
export const keyFor = (name: string): string => `sk-test-${name}-0123456789abcdef`;

/** Somebody who types what a page shows: a gateway runs, and providers stand where the real ones would. */
export interface Reader extends AsyncDisposable {
  readonly gateway: RunningGateway;
  /** Where. */
  readonly folder: string;
  /** Types them. @returns what they printed @throws with it where one fails */
  readonly type: (code: string) => Promise<string>;
}

/** What another tool has left. */
function writeOneApi(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(`
    CREATE TABLE channels (id integer PRIMARY KEY, type integer, key text, status integer, name text, weight integer,
      base_url text, other text, models text, "group" text, model_mapping text, priority bigint);
    INSERT INTO channels (type, key, status, name, weight, base_url, models, "group", priority)
      VALUES (43, '${keyFor("former")}', 1, 'former', 1, '', 'deepseek-chat', 'default', 0);`);
  db.close();
}

export interface ReaderOptions {
  /** Whether two keys, Ada's and Ben's, are there for OpenAI already, as on pages that one reads later. */
  readonly prepared: boolean;
  /** What the gateway finds in its environment besides. */
  readonly env?: Readonly<Record<string, string>>;
  /** What stands here for addresses that a page invents. */
  readonly instead?: ReadonlyMap<string, string>;
  /** Programs that are not on this machine, by name: what stands for them, in bash. */
  readonly programs?: Readonly<Record<string, string>>;
}

export async function aReader(options: ReaderOptions): Promise<Reader> {
  const home = mkdtempSync(join(tmpdir(), "keywheel-reader-"));
  const folder = join(home, "project");
  const shims = join(home, "shims");
  for (const path of [folder, shims]) mkdirSync(path);
  const keys = ["Ada", "Ben", "one", "two", "typed", "variable"].map(keyFor);
  writeOneApi(join(folder, "one-api.db"));
  const listed = `${keyFor("one")}\n${keyFor("two")},Second,2\n`;
  for (const name of ["keys", "openai-keys", "anthropic-keys", "gemini-keys"])
    writeFileSync(join(folder, `${name}.txt`), listed);
  const kinds = ["openai", "anthropic", "gemini"] as const satisfies readonly ScriptedKind[];
  const providers = await Promise.all(kinds.map((kind) => startScriptedProvider({ kind, keys })));
  const gateway = await runGateway({
    env: { OPENAI_KEY_1: keyFor("variable"), TEAM_KEY: "sk-test-team-0123456789abcdef", ...options.env },
  });
  const addresses = Object.fromEntries(kinds.map((kind, at) => [kind, providers[at]?.baseUrl]));

  const shim = (name: string, text: string): void => {
    writeFileSync(join(shims, name), `#!/usr/bin/env bash\nset -euo pipefail\n${text}`);
    chmodSync(join(shims, name), 0o755);
  };
  const program = `${JSON.stringify(process.execPath)} -- ${JSON.stringify(join(root, "packages/gateway/dist/cli/main.js"))}`;
  // What serves until it is stopped is stopped once it serves; what opens a browser does not; what asks is told yes; nothing goes to a real provider.
  shim(
    "keywheel",
    `
case "\${1:-}" in
  demo) exec ${program} "$@" --no-open --seconds 5 ;;
  start)
    ready="$(mktemp -u)"; shift
    KEYWHEEL_DATA_DIR="$HOME/other" ${program} start "$@" --port 0 --ready-file "$ready" & pid=$!
    while [ ! -s "$ready" ]; do kill -0 $pid; sleep 0.1; done
    # Somebody asks it something.
    curl -s -o "$HOME/asked" "$(sed 's/.*"url": *"\\([^"]*\\)".*/\\1/' "$ready")/openai/v1/models"
    kill $pid; wait $pid; exit ;;
  token)
    # The admin token of this gateway is fixed by a variable; this one is not.
    if [ "\${2:-}" = rotate-admin ]; then
      unset KEYWHEEL_ADMIN_TOKEN
      export KEYWHEEL_DATA_DIR="$HOME/other"
      set -- "$@" --yes
    fi ;;
  rotate-master-key | migrate)
    # While no gateway runs.
    export KEYWHEEL_DATA_DIR="$HOME/other"
    ${program} provider add openai > /dev/null ;;
  webhook)
    if [ "\${2:-}" = remove ]; then set -- "$@" --yes; fi ;;
  connect)
    # Where a gateway token is asked for, somebody types one.
    if [[ " $* " == *" --token - "* ]]; then
      ${program} token create "given $RANDOM" | ${program} "$@"
      exit
    fi ;;
  key)
    # Where a key is asked for, somebody types one.
    if [ "\${2:-}" = add ] && { [ $# -lt 4 ] || [[ "$4" == --* ]]; }; then
      printf '%s' ${JSON.stringify(keyFor("typed"))} | ${program} key add "$3" - "\${@:4}"
      exit
    fi ;;
esac
${program} "$@"
if [ "\${1:-} \${2:-}" = "provider add" ]; then
  slug="$3"
  case "$slug" in ${kinds.map((kind) => `${kind}) address='${addresses[kind]}' ;;`).join(" ")} *) exit 0 ;; esac
  ${program} provider set "$slug" --base-url "$address" --confirm-host-change > /dev/null
fi
`,
  );
  shim(
    "npx",
    `[ "$1" != --prefix ] || shift 2\n[ "$1" = keywheel ] && shift && exec keywheel "$@"\necho "npx $*: not ours" >&2; exit 1\n`,
  );
  // test/package installs what is packed; here it is there already.
  shim(
    "npm",
    // Scripts of the repository are there, as \`scripts/lib/docs.test.ts\` looks; \`npm test\` is what runs this.
    `case "$*" in
  "install --global keywheel" | "install @keywheel/pool" | ci | test | run\\ *) exit 0 ;;
  install\\ *)
    # SDKs are here already, as the newest of their kind are.
    for name in "\${@:2}"; do [ -e ${JSON.stringify(modules)}/"$name" ] || { echo "$name: no test installs that" >&2; exit 1; }; done
    ln -sfn ${JSON.stringify(modules)} node_modules; exit 0 ;;
  start | start\\ --\\ *) shift; [ "\${1:-}" != -- ] || shift; exec keywheel start "$@" ;;
esac\necho "npm $*: no test does that" >&2; exit 1\n`,
  );

  // What people start once it is set up: it sends a request as it would.
  shim(
    "claude",
    `curl -sS --fail-with-body "$ANTHROPIC_BASE_URL/v1/messages" -H 'anthropic-version: 2023-06-01' -H "authorization: Bearer $ANTHROPIC_AUTH_TOKEN" -H 'content-type: application/json' \\
  -d '{"model": "claude-test", "max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}]}'\n`,
  );
  for (const [name, text] of Object.entries(options.programs ?? {})) shim(name, text);

  const env = {
    PATH: [shims, process.env["PATH"]].join(delimiter),
    HOME: home,
    KEYWHEEL_DATA_DIR: gateway.dataDir,
    KEYWHEEL_ADMIN_TOKEN: testAdminToken,
    // For exports, which ask for one.
    KEYWHEEL_PASSPHRASE: "correct horse battery staple",
  };
  const type = async (code: string): Promise<string> => {
    const found = [...(options.instead ?? [])].reduce((text, [shown, here]) => text.replaceAll(shown, here), code);
    const script = found
      .replaceAll("http://127.0.0.1:8787", gateway.url)
      .replaceAll("https://gateway.example", gateway.url)
      .replaceAll(/ --port \d+/g, "")
      .replaceAll("/mnt/safe", home);
    try {
      const { stdout } = await execute("bash", ["--norc", "-euo", "pipefail", "-c", script], { cwd: folder, env });
      return stdout;
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
      throw new Error(`${script}\n${stdout}\n${stderr}`, { cause: error });
    }
  };
  if (options.prepared) {
    for (const kind of kinds) await type(`keywheel provider add ${kind}`);
    for (const name of ["Ada", "Ben"]) await type(`keywheel key add openai ${keyFor(name)} --label ${name}`);
  }

  return {
    gateway,
    folder,
    type,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      for (const provider of providers) await provider[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
