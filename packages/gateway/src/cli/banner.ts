import type { Gateway } from "./serve/gateway.ts";
import type { Terminal } from "./terminal.ts";

/**
 * What a person reads first. It goes to the standard output and to no log: it holds the link that signs in, and at the
 * first start the admin token.
 */
export function bannerFor(
  { url, createSignInLink, madeToken }: Pick<Gateway, "url" | "createSignInLink" | "madeToken">,
  { dataDir, version }: { readonly dataDir: string; readonly version: string },
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
