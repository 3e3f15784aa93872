import { createHash } from "node:crypto";
import type { Context } from "hono";

const style =
  "body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}code{font-size:.95em}";
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Stands where the settings pages would be, had they been built. @param notice what went wrong, in plain text */
export function standInPage(c: Context, status: 200 | 401, version: string, notice?: string): Response {
  c.header("content-security-policy", policy);
  const said = notice === undefined ? "" : `<p role="alert"><strong>${escapeHtml(notice)}.</strong></p>`;
  return c.html(
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Keywheel</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Keywheel runs</h1>
${said}
<p>This is version ${escapeHtml(version)}. The settings pages were not built: <code>npm run build</code> makes them.</p>
<p>Manage it from a terminal on this machine with <code>keywheel provider</code>, <code>keywheel key</code>,
<code>keywheel token</code> and <code>keywheel status</code> (<code>keywheel --help</code> lists them all), or from a
program over <code>/api</code> with the admin token; <code>/api/openapi.json</code> describes every call.</p>
</main>
</body>
</html>
`,
    status,
  );
}

function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
