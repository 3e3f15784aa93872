import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { root } from "../../scripts/lib/root.mjs";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Published {
  readonly manifest: Manifest;
  /** What npm unpacks: a file as `npm pack` makes it, or the folder of an installed package. */
  readonly from: { readonly tarball: string } | { readonly folder: string };
}

export interface Registry extends AsyncDisposable {
  readonly url: string;
}

/**
 * A registry on loopback for npm: our packages as `npm pack` made them, and beside them the dependencies of this checkout, at
 * the versions that its lockfile names. What is installed from it is what people get, and nothing is asked of the network.
 *
 * @param tarballs of our packages
 * @param others installed in this checkout, with all that they need
 */
export async function startRegistry(tarballs: readonly string[], others: readonly string[] = []): Promise<Registry> {
  const published = new Map<string, Published>();
  for (const tarball of tarballs) {
    const manifest = JSON.parse(await readFromTarball(tarball, "package/package.json")) as Manifest;
    published.set(idOf(manifest), { manifest, from: { tarball } });
  }
  const ours = new Set([...published.values()].map(({ manifest }) => manifest.name));
  const wanted = [...published.values()].flatMap(({ manifest }) => needsOf(manifest));
  for (const name of [...wanted, ...others]) if (!ours.has(name)) publish(published, name, root);

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    if (path.startsWith("-/tarballs/")) sendTarball(published.get(path.slice("-/tarballs/".length)), response);
    else
      sendDocument(
        [...published.values()].filter(({ manifest }) => manifest.name === path),
        url,
        response,
      );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Finds a package as Node would from a folder, and all that it needs in turn. */
function publish(published: Map<string, Published>, name: string, from: string): void {
  const folder = findInstalled(name, from);
  if (folder === undefined) return;
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  if (published.has(idOf(manifest))) return;
  published.set(idOf(manifest), { manifest, from: { folder } });
  for (const need of needsOf(manifest)) publish(published, need, folder);
}

/** @returns undefined for what is not there: an optional one, or one for another platform */
function findInstalled(name: string, from: string): string | undefined {
  const candidate = join(from, "node_modules", name);
  if (existsSync(join(candidate, "package.json"))) return candidate;
  return from === root ? undefined : findInstalled(name, dirname(from));
}

function needsOf({ dependencies, optionalDependencies, peerDependencies }: Manifest): readonly string[] {
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
}

function idOf({ name, version }: Manifest): string {
  return `${name}@${version}`;
}

function sendDocument(found: readonly Published[], url: string, response: ServerResponse): void {
  const versions = found.map(({ manifest }) => {
    const dist = { tarball: `${url}-/tarballs/${encodeURIComponent(idOf(manifest))}` };
    return [manifest.version, { ...manifest, dist }] as const;
  });
  const [latest] = versions.at(-1) ?? [];
  const body = { name: found[0]?.manifest.name, "dist-tags": { latest }, versions: Object.fromEntries(versions) };
  response.writeHead(latest === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(latest === undefined ? { error: "not found" } : body));
}

function sendTarball(found: Published | undefined, response: ServerResponse): void {
  if (found === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": "application/octet-stream" });
  if ("tarball" in found.from) return void response.end(readFileSync(found.from.tarball));
  const { folder } = found.from;
  const args = ["-czf", "-", "--exclude", "node_modules", "-C", dirname(folder), basename(folder)];
  const tar = spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] });
  tar.stdout.pipe(response);
}

async function readFromTarball(tarball: string, name: string): Promise<string> {
  const tar = spawn("tar", ["-xzOf", tarball, name], { stdio: ["ignore", "pipe", "inherit"] });
  return (await tar.stdout.toArray()).join("");
}
