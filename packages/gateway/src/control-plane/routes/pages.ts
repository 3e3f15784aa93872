import { isKeywheelError } from "@keywheel/pool";
import type { Context } from "hono";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { standInPage } from "../stand-in-page.ts";
import { giveCookie, peerOf } from "../signed-in.ts";

/** `/`, `/ui/` and the link that signs a browser in. */
export function addPageRoutes(app: ControlApp, { auth, info, pages }: ControlPlaneDeps): void {
  const document = (c: Context): Response => pages?.document(c) ?? standInPage(c, 200, info.version);

  app.get("/", (c) => c.redirect("/ui/", 302));
  app.get("/ui", (c) => c.redirect("/ui/", 302));
  app.get("/ui/sign-in", (c) => {
    const code = c.req.query("code");
    const isPeek = c.req.method === "HEAD" || /prefetch|prerender/.test(c.req.header("sec-purpose") ?? "");
    // A look ahead by a browser or a chat program must not spend the code.
    if (code === undefined || isPeek) return document(c);
    try {
      giveCookie(c, auth.browsers, auth.redeem(code, peerOf(c)));
      // On to an address without the code, so that it stays in no history.
      return c.redirect("/ui/", 303);
    } catch (error) {
      if (!isKeywheelError(error) || error.code !== "unauthorized") throw error;
      // The pages say it in the person's language.
      return pages ? c.redirect("/ui/sign-in?link=spent", 303) : standInPage(c, 401, info.version, error.message);
    }
  });
  app.get("/ui/*", (c) => {
    const name = c.req.path.slice("/ui/".length);
    const file = pages?.file(c, name);
    if (file) return file;
    // Of an older build, asked for by a page that was open meanwhile: the document in its place would be taken for a script.
    if (name.startsWith("assets/")) return c.notFound();
    return document(c);
  });
}
