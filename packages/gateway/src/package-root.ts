import { existsSync } from "node:fs";

/** The folder of this package, with a slash behind it: the sources and the built program lie at different depths of it. */
export const packageRoot: URL = findRoot();

function findRoot(): URL {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) {
    const above = new URL("..", folder);
    if (above.href === folder.href) throw new Error("The program lies outside of its package.");
    folder = above;
  }
  return folder;
}

/**
 * What another thread or process of this program begins with.
 *
 * @param name below the sources, without ending, such as `store/sqlite-worker`; each is an entry of the build (`scripts/lib/bundle.mjs`)
 */
export function entryUrl(name: string): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? `src/${name}.ts` : `dist/${name}.js`, packageRoot);
}
