/** First path segments that the gateway itself answers, or will: no provider can have them. */
export const reservedSlugs: ReadonlySet<string> = new Set([
  "api",
  "ui",
  "healthz",
  "readyz",
  "metrics",
  "assets",
  "static",
  // A client whose base URL lacks the slug asks for these; it must be told so, not be served by chance.
  "v1",
  "v1beta",
  "v1alpha",
  "v2",
]);

const slugShape = /^[a-z0-9][a-z0-9-]{0,62}$/;

export interface SlugProblem {
  /** What is wrong, as programs match on it. */
  readonly code: "reserved" | "shape";
  readonly message: string;
}

/** Why a text cannot be a provider's slug, or undefined. */
export function problemOfSlug(slug: string): SlugProblem | undefined {
  if (reservedSlugs.has(slug)) {
    return { code: "reserved", message: `The gateway needs the path /${slug} itself: choose another slug` };
  }
  if (slugShape.test(slug)) return undefined;
  const message = "Expected `slug` to be 1 to 63 lower-case letters, digits and hyphens, no hyphen first";
  return { code: "shape", message };
}

/**
 * A slug made from a name, free among `taken`.
 *
 * @returns undefined if the name holds nothing that a slug may be made of
 */
export function slugFrom(name: string, isTaken: (slug: string) => boolean): string | undefined {
  const base = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 56)
    .replace(/-+$/, "");
  if (base === "") return undefined;
  for (let n = 1; ; n++) {
    const slug = n === 1 ? base : `${base}-${n}`;
    if (!reservedSlugs.has(slug) && !isTaken(slug)) return slug;
  }
}
