import { createRequire } from "node:module";
import { join } from "node:path";
import { chatPath, clientToken, type Contender, threeKeys } from "../contender.ts";

/** A bare pass-through over `node:http` and undici: the limit with the libraries that Keywheel keeps to. */
export const undici: Contender = {
  name: "undici",
  title: "bare node:http + undici",
  setups: ["plain", "tls"],
  version: () => {
    const require = createRequire(join(import.meta.dirname, "..", "..", "packages", "gateway", "package.json"));
    return (require("undici/package.json") as { version: string }).version;
  },
  async prepare(setup, { freePort, node, upstreamUrl, tls }) {
    const port = await freePort();
    const isTls = setup === "tls";
    if (isTls && tls === undefined) throw new Error("The TLS upstream could not be set up.");
    const origin = isTls && tls !== undefined ? tls.url : upstreamUrl;
    const program = join(import.meta.dirname, "bare-proxy.mjs");
    return {
      command: [node, program, String(port), origin, threeKeys[0]?.value ?? ""],
      env: isTls && tls !== undefined ? { BENCH_CA: tls.certificate } : {},
      port,
      path: chatPath,
      token: clientToken,
      headers: [],
    };
  },
};
