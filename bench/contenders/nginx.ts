import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatPath, clientToken, type Contender, type Setup, type Surroundings, threeKeys } from "../contender.ts";

/** nginx as a reverse proxy that keeps its connections: what a gateway can come to in practice. */
export function nginx(program: () => string): Contender {
  return {
    name: "nginx",
    title: "nginx",
    setups: ["plain", "failover", "tls"],
    version: () => versionOf(program()),
    async prepare(setup, surroundings) {
      const port = await surroundings.freePort();
      const folder = join(surroundings.folder, `nginx-${setup}`);
      mkdirSync(folder, { recursive: true });
      const file = join(folder, "nginx.conf");
      writeFileSync(file, configuration(port, folder, serverOf(setup, surroundings)));
      return { command: commandOf(program(), file), port, path: chatPath, token: clientToken, headers: [] };
    },
  };
}

/** An nginx that puts TLS before the upstream; on the upstream's core. @returns its command */
export function tlsFront(
  program: string,
  port: number,
  surroundings: Surroundings,
  files: { readonly certificate: string; readonly key: string },
): string[] {
  const folder = join(surroundings.folder, "nginx-tls-front");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "nginx.conf");
  const server = `
    upstream provider { server ${hostOf(surroundings.upstreamUrl)}; ${keptAlive} }
    server {
      listen 127.0.0.1:${port} ssl backlog=4096;
      ssl_certificate ${files.certificate};
      ssl_certificate_key ${files.key};
      ssl_protocols TLSv1.3;
      location / { proxy_pass http://provider; ${passedOn} proxy_buffering off; }
    }`;
  writeFileSync(file, configuration(undefined, folder, server));
  return commandOf(program, file);
}

const keptAlive = "keepalive 512; keepalive_requests 1000000000;";
const passedOn = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_read_timeout 600s;';

function serverOf(setup: Setup, { upstreamUrl, tls }: Surroundings): string {
  if (setup === "tls" && tls === undefined) throw new Error("The TLS upstream could not be set up.");
  const url = setup === "tls" && tls !== undefined ? tls.url : upstreamUrl;
  const server = `server ${hostOf(url)} max_fails=0;`;
  const isTls = setup === "tls";
  const retries =
    setup === "failover"
      ? "proxy_next_upstream error timeout http_429 non_idempotent; proxy_next_upstream_tries 2;"
      : "";
  const [first, second, third] = threeKeys.map(({ value }) => value);
  return `
    map $http_authorization $is_known { default 0; "Bearer ${clientToken}" 1; }
    split_clients $http_x_session_id $key { 50% ${first}; 33.3% ${second}; * ${third}; }
    upstream provider { ${setup === "failover" ? server.repeat(2) : server} ${keptAlive} }
    server {
      listen 127.0.0.1:PORT backlog=4096;
      location / {
        if ($is_known = 0) { return 401; }
        proxy_pass ${isTls ? "https" : "http"}://provider;
        ${passedOn}
        proxy_set_header Authorization "Bearer $key";
        ${isTls ? "proxy_ssl_protocols TLSv1.3; proxy_ssl_session_reuse on; proxy_ssl_server_name on; proxy_ssl_name localhost;" : ""}
        ${retries}
      }
    }`;
}

/** Everything at its default but what a gateway of chats needs: room for bodies in memory, and for many connections. */
function configuration(port: number | undefined, folder: string, server: string): string {
  const scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(" ");
  return `
  daemon off;
  worker_processes 1;
  worker_rlimit_nofile 65536;
  pid ${join(folder, "nginx.pid")};
  error_log ${join(folder, "error.log")} crit;
  events { worker_connections 20000; }
  http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_buffer_size 256k;
    client_max_body_size 64m;
    ${scratch}
    ${server.replace("PORT", String(port))}
  }
`;
}

function commandOf(program: string, file: string): string[] {
  return [program, "-e", join(file, "..", "start.log"), "-c", file];
}

function hostOf(url: string): string {
  return new URL(url).host;
}

function versionOf(program: string): string {
  // It tells its version on standard error.
  return execFileSync("sh", ["-c", `'${program}' -v 2>&1`], { encoding: "utf8" })
    .replace(/^.*nginx\//s, "")
    .trim();
}
