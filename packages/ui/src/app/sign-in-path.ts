/** Below which path of the gateway the pages are. */
export const basename = "/ui";

/** The way to the sign-in that leads back afterwards. @param from an address of these pages */
export function signInPath(from: string): string {
  const { pathname, search } = new URL(from);
  const back = `${pathname.startsWith(basename) ? pathname.slice(basename.length) : pathname}${search}`;
  return back === "" || back === "/" ? "/sign-in" : `/sign-in?back=${encodeURIComponent(back)}`;
}
