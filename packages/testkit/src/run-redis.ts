import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "./free-port.ts";

/**
 * A Redis (or Valkey) server of a test's own: on loopback, in a temporary folder, nothing kept unless its settings say so.
 * Disposed of twice is once.
 */
export interface RunningRedis {
  readonly port: number;
  /** Of TLS, where that is asked for. */
  readonly tlsPort: number;
  readonly url: string;
  /** Stops it in the middle of whatever it does; the connections stay open. */
  pause(): void;
  resume(): void;
  /** Ends it at once, without a word to anybody. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with what its settings let it keep (nothing by themselves). */
  restart(): Promise<void>;
  /** Ends it and starts it again on the same port, with nothing. */
  restartEmpty(): Promise<void>;
  dispose(): Promise<void>;
}

interface RunRedisOptions {
  /** Addresses of this machine on which it listens as well; it lets in whoever reaches them. */
  readonly listenOn?: readonly string[];
  /** More of its settings, as words of its command line. */
  readonly settings?: readonly string[];
  /** Speaks TLS as well, on a port of its own. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Is the sentinel of the server on this port, which it knows as `mymaster`. */
  readonly sentinelOf?: number;
}

/** @throws if there is none on this machine; `npm test` installs one where it can */
export async function runRedis(options: RunRedisOptions = {}): Promise<RunningRedis> {
  const folder = await mkdtemp(join(tmpdir(), "keywheel-redis-"));
  const [port, tlsPort] = [await freePort(), await freePort()];
  const words = await wordsFor(folder, { port, tlsPort, ...options });
  let child = await startRedis(words, port);
  const onExit = (): void => void child.kill("SIGKILL");
  process.on("exit", onExit);
  const restart = async (): Promise<void> => {
    await end(child);
    child = await startRedis(words, port);
  };
  return {
    port,
    tlsPort,
    url: `redis://127.0.0.1:${port}`,
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    kill: () => end(child),
    restart,
    restartEmpty: async () => {
      await end(child);
      for (const name of ["dump.rdb", "appendonlydir"]) await rm(join(folder, name), { recursive: true, force: true });
      await restart();
    },
    dispose: async () => {
      process.off("exit", onExit);
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function wordsFor(
  folder: string,
  {
    port,
    tlsPort,
    settings = [],
    listenOn = [],
    tls,
    sentinelOf,
  }: RunRedisOptions & { readonly port: number; readonly tlsPort: number },
): Promise<string[]> {
  const own = ["--port", `${port}`, "--bind", "127.0.0.1", ...listenOn, "--dir", folder];
  // Without a password it would let in nobody but loopback.
  if (listenOn.length > 0) own.push("--protected-mode", "no");
  if (sentinelOf !== undefined) {
    const file = join(folder, "sentinel.conf");
    await writeFile(file, `sentinel monitor mymaster 127.0.0.1 ${sentinelOf} 1\n`);
    return [file, "--sentinel", ...own];
  }
  own.push("--save", "", "--appendonly", "no");
  if (tls !== undefined) {
    const [certificate, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
    await writeFile(certificate, tls.certificate);
    await writeFile(key, tls.key);
    own.push(
      "--tls-port",
      `${tlsPort}`,
      "--tls-cert-file",
      certificate,
      "--tls-key-file",
      key,
      "--tls-auth-clients",
      "no",
    );
  }
  return [...own, ...settings];
}

/** A cluster of servers on loopback, without replicas, all slots served. */
export async function runRedisCluster(count: number): Promise<{ readonly url: string; dispose(): Promise<void> }> {
  const settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
  const servers = await Promise.all(Array.from({ length: count }, () => runRedis({ settings })));
  const slots = 16_384;
  for (const [index, { port }] of servers.entries()) {
    const [first, last] = [Math.ceil((slots * index) / count), Math.ceil((slots * (index + 1)) / count) - 1];
    const own = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    await tell(port, `CLUSTER ADDSLOTS ${own.join(" ")}`);
    await tell(port, `CLUSTER SET-CONFIG-EPOCH ${index + 1}`);
    for (const other of servers) if (other.port !== port) await tell(port, `CLUSTER MEET 127.0.0.1 ${other.port}`);
  }
  for (const { port } of servers)
    for (
      let attempt = 0;
      !/cluster_state:ok[^]*cluster_known_nodes:(\d+)/.test(await tell(port, "CLUSTER INFO"));
      attempt++
    ) {
      if (attempt > 500) throw new Error("the cluster does not come up");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  return {
    url: `redis://${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    dispose: async () => void (await Promise.all(servers.map((server) => server.dispose()))),
  };
}

/** Sends one command as a line. @returns what came first */
async function tell(port: number, command: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write(`${command}\r\n`);
    const [data] = (await once(socket, "data")) as [Buffer];
    return data.toString();
  } finally {
    socket.destroy();
  }
}

/** The server's executable on this machine; `KEYWHEEL_TEST_REDIS` names another one. */
function findRedis(): string | undefined {
  const named = process.env["KEYWHEEL_TEST_REDIS"];
  if (named !== undefined && named !== "") return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = folders.flatMap((folder) => [join(folder, "redis-server"), join(folder, "valkey-server")]);
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function startRedis(words: readonly string[], port: number): Promise<ChildProcess> {
  const program = findRedis();
  if (program === undefined)
    throw new Error("The tests need redis-server or valkey-server: install one, or name it in KEYWHEEL_TEST_REDIS.");
  const child = spawn(program, words, { stdio: ["ignore", "ignore", "pipe"] });
  for (let attempt = 0; attempt < 500; attempt++) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    if (await answers(port)) return child;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("redis-server does not answer");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function answers(port: number): Promise<boolean> {
  try {
    // With a password it says no, which is an answer.
    return /^[+-]/.test(await tell(port, "PING"));
  } catch {
    return false;
  }
}
