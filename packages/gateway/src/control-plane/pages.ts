import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { Context } from "hono";

/** The settings pages as they were built: one document and the files that it asks for. */
export interface Pages {
  /** The document, for every address below `/ui/` that is no file. */
  readonly document: (c: Context) => Response;
  /** @param name below `/ui/`; undefined for what is no file of the pages */
  readonly file: (c: Context, name: string) => Response | undefined;
}

/** What the build writes where a nonce belongs. @see packages/ui/vite.config.ts */
const noncePlaceholder = "KEYWHEEL_CSP_NONCE";
const documentName = "index.html";

const contentTypes: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2",
};

/** In the order in which they are preferred. */
const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/**
 * Reads the built pages into memory: they are small, and what lies elsewhere on the disk can then not be asked for.
 *
 * @param folder where the build wrote them
 * @returns undefined if they were not built
 */
export function openPages(folder: string): Pages | undefined {
  const files = readFiles(folder);
  const html = files.get(documentName);
  if (html === undefined) return undefined;
  const parts = Buffer.from(html.body).toString("utf8").split(noncePlaceholder);

  return {
    document: (c) => {
      const nonce = randomBytes(16).toString("base64url");
      c.header("content-security-policy", policyFor(nonce));
      // It names the files of this build; an old one would ask for files that are gone.
      c.header("cache-control", "no-store");
      return c.html(parts.join(nonce));
    },
    file: (c, name) => (name === documentName ? undefined : serve(c, files, name)),
  };
}

function readFiles(folder: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const entry of namesBelow(folder)) {
    const body = new Uint8Array(readFileSync(join(folder, entry)));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    files.set(entry.split(sep).join("/"), { body, etag });
  }
  return files;
}

function namesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length)
          .replace(/^[\\/]+/, ""),
      );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function serve(c: Context, files: ReadonlyMap<string, PageFile>, name: string): Response | undefined {
  const type = contentTypes[name.split(".").at(-1) ?? ""];
  const plain = files.get(name);
  if (type === undefined || plain === undefined) return undefined;

  // Names in `assets` hold a hash of what is in them.
  const isHashed = name.startsWith("assets/");
  c.header("cache-control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
  c.header("etag", plain.etag);
  c.header("vary", "accept-encoding");
  if (c.req.header("if-none-match") === plain.etag) return c.body(null, 304);

  c.header("content-type", type);
  const accepted = c.req.header("accept-encoding") ?? "";
  const [encoding, packed] = bestEncoding(files, name, accepted) ?? [];
  if (encoding === undefined || packed === undefined) return c.body(plain.body);
  c.header("content-encoding", encoding);
  return c.body(packed.body);
}

function bestEncoding(
  files: ReadonlyMap<string, PageFile>,
  name: string,
  accepted: string,
): readonly [string, PageFile] | undefined {
  for (const [encoding, suffix] of encodings) {
    const packed = files.get(name + suffix);
    const isAccepted = new RegExp(`\\b${encoding}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\s*(?:,|$))`, "i").test(accepted);
    if (packed !== undefined && isAccepted) return [encoding, packed];
  }
  return undefined;
}

/**
 * Scripts only from our own files. The component library makes style elements while it runs, which carry the nonce; what it
 * sets on single elements goes through the object model, which no policy restricts.
 */
function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
