import type { Gateway } from "./serve/gateway.ts";
import type { Terminal } from "./terminal.ts";

type Announced = Pick<Gateway, "url" | "createSignInLink" | "madeToken">;

interface Facts {
  readonly dataDir: string;
  readonly version: string;
}

/** The same as one line of JSON, for programs: `admin_token` is null but at the first start. */
export function bannerAsJson({ url, createSignInLink, madeToken }: Announced, { dataDir, version }: Facts): string {
  const admin = madeToken?.reveal() ?? null;
  return `${JSON.stringify({ url, sign_in: createSignInLink(), admin_token: admin, data_dir: dataDir, pid: process.pid, version })}\n`;
}

/**
 * What a person reads first. It goes to the standard output and to no log: it holds the link that signs in, and at the
 * first start the admin token.
 */
export function bannerFor(
  { url, createSignInLink, madeToken }: Announced,
  { dataDir, version }: Facts,
  { colors, isInteractive }: Terminal,
): string {
  const { bold, dim } = colors;
  const lines = [
    `${bold("Keywheel")} ${version} runs at ${bold(url)}`,
    "",
    `  Settings     ${url}/ui/`,
    `  Sign in      ${createSignInLink()}`,
    `               ${dim("once, within 15 minutes")}`,
    ...(madeToken === undefined
      ? []
      : [`  Admin token  ${madeToken.reveal()}`, `               ${dim("shown this once: keep it in a safe place")}`]),
    `  Data         ${dataDir}`,
    ...(isInteractive ? ["", dim("Ctrl-C stops it.")] : []),
    "",
  ];
  return `${lines.join("\n")}\n`;
}
