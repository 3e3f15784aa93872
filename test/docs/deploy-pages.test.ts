import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { aReader, type Reader, shellOf } from "./shell.ts";

// There is no Docker and no cluster where these tests run. What surrounds their programs is typed for real: files, secrets and
// the gateway's own commands. They themselves are stood in for by what refuses every call that does not fit the files beside
// it; those files are held to their schemas in test/deploy.

beforeAll(() => ensureBuilt(), 120_000);

/** Where the page has its reader be: in the clone, or below. */
function cloneFor(reader: Reader, folder = ""): (code: string) => Promise<string> {
  const clone = join(reader.folder, "clone");
  if (!existsSync(clone)) {
    mkdirSync(clone);
    cpSync(join(root, "deploy"), join(clone, "deploy"), { recursive: true });
  }
  return (code) => reader.type(`cd '${join(clone, folder)}'\n${code}`);
}

const runsKeywheel = `
in_container() {
  [ "$1" = keywheel ] || [ "$1" = pg_dump ] || { echo "no $1 in the image" >&2; exit 1; }
  [ "$1" = pg_dump ] || exec "$@"
}
`;

const docker = `${runsKeywheel}
[ "$1" = compose ] || { echo "docker $1: no page shows that" >&2; exit 1; }
shift
[ -f compose.yaml ] || { echo "no configuration file provided: not found" >&2; exit 14; }
has_service() { grep -q "^  $1:" compose.yaml || { echo "no such service: $1" >&2; exit 1; }; }
case "$1" in
  up)
    for name in $(grep -o '\${[A-Z_]*:?' compose.yaml | tr -d '\${:?' | sort -u); do
      grep -q "^$name=." .env || { echo "required variable $name is missing a value" >&2; exit 15; }
    done
    shift
    for word in "$@"; do case "$word" in --detach | -d | --no-deps | --wait) ;; -*) exit 16 ;; *) has_service "$word" ;; esac; done ;;
  build) ;;
  logs) shift; for name in "$@"; do has_service "$name"; done ;;
  exec) has_service "$2"; shift 2; in_container "$@" ;;
  *) echo "docker compose $1: no page shows that" >&2; exit 1 ;;
esac
`;

describe("deploy/compose/README.md", () => {
  const page = readFileSync(join(root, "deploy/compose/README.md"), "utf8");

  it("can be typed, its file filled in as that says", { timeout: 60_000 }, async () => {
    await using reader = await aReader({ prepared: true, programs: { docker } });
    const type = cloneFor(reader, "deploy/compose");
    const [lines = "", ...others] = shellOf(page).map(({ code }) => code);
    const [copy = "", ...rest] = lines.trimEnd().split("\n");

    await type(copy);
    const env = join(reader.folder, "clone/deploy/compose/.env");
    const empty = await type(rest[0] ?? "").catch((error: unknown) => String(error));
    // Each empty value has above it what makes one.
    const filled = [...readFileSync(env, "utf8").matchAll(/^# (openssl [\w -]+)[^\n]*\n(\w+)=$/gm)];
    for (const [, command = "", name = ""] of filled)
      await type(`value="$(${command})"; sed -i "s|^${name}=$|${name}=$value|" .env`);
    for (const line of rest) await type(line);

    expect(empty).toContain("is missing a value");
    expect(statSync(env).mode & 0o777).toBe(0o600);
    expect(
      Buffer.from(/^KEYWHEEL_MASTER_KEY=(.+)$/m.exec(readFileSync(env, "utf8"))?.[1] ?? "", "base64"),
    ).toHaveLength(32);
    expect(await reader.type("keywheel token list --json")).toContain('"laptop"');
    expect(others).toEqual([]);
  });

  it("has a table of commands that can be typed", { timeout: 60_000 }, async () => {
    await using reader = await aReader({ prepared: true, programs: { docker } });
    const type = cloneFor(reader, "deploy/compose");
    const commands = [...page.matchAll(/`(docker compose (?!up -d`)[^`]+)`/g)].map(([, command = ""]) => command);
    await type(`sed 's/=$/=filled/' .env.example > .env`);

    for (const command of commands) {
      // What is wrong here is not the point: on loopback without a token, the doctor warns.
      const failed = await type(command).catch((error: unknown) => error);
      expect([command, failed]).toEqual([command, expect.any(String)]);
    }

    expect(commands.length).toBeGreaterThan(4);
  });
});

const kubectl = `${runsKeywheel}
namespace=default
[ "$1" != -n ] || { namespace="$2"; shift 2; }
case "$1 \${2:-}" in
  "apply -f") grep -q '^kind:' "$3" ;;
  "apply -k") [ -f "$3/kustomization.yaml" ] ;;
  "create secret")
    [ "$3 $4" = "generic keywheel" ]; shift 4
    for literal in "$@"; do printf '%s\\n' "\${literal#--from-literal=}"; done > "$HOME/secret"
    echo "$namespace" > "$HOME/namespace" ;;
  "exec "*) [ "$2 $3" = "deploy/keywheel --" ]; shift 3; in_container "$@" ;;
  "port-forward "*) grep -q "name: \${2#service/}$" deploy/kubernetes/services.yaml; [ "$3" = 8787 ] ;;
  *) echo "kubectl $1 $2: no page shows that" >&2; exit 1 ;;
esac
`;
const podman = `
case "$1" in
  build) [ "$2 $4" = "-f -t" ] && grep -q '^FROM ' "$3"; echo "\${5}" > "$HOME/built" ;;
  push) [ "$2" = "$(cat "$HOME/built")" ] ;;
  *) exit 1 ;;
esac
`;

describe("deploy/kubernetes/README.md", () => {
  const page = readFileSync(join(root, "deploy/kubernetes/README.md"), "utf8");

  it("can be typed in the clone", { timeout: 60_000 }, async () => {
    await using reader = await aReader({ prepared: true, programs: { kubectl, podman } });
    const type = cloneFor(reader);
    const [lines = "", ...others] = shellOf(page).map(({ code }) => code);

    await type(lines);
    for (const [, command = ""] of page.matchAll(/`(kubectl -n [^`]+)`/g)) await type(command);

    const kept = (name: string): string => readFileSync(join(reader.folder, "..", name), "utf8");
    const secret = new Map(
      kept("secret")
        .trimEnd()
        .split("\n")
        .map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]),
    );
    const { metadata } = parse(readFileSync(join(root, "deploy/kubernetes/namespace.yaml"), "utf8")) as {
      readonly metadata: { readonly name: string };
    };
    expect(kept("namespace").trim()).toBe(metadata.name);
    expect(Buffer.from(secret.get("master-key") ?? "", "base64")).toHaveLength(32);
    expect(secret.get("admin-token")).toMatch(/^\w{48}$/);
    expect(await reader.type("keywheel token list --json")).toContain('"laptop"');
    expect(others).toEqual([]);
  });
});
