import { isKeywheelError } from "@keywheel/pool";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { standInPage } from "../stand-in-page.ts";
import { giveCookie, peerOf } from "../signed-in.ts";

/** `/`, `/ui/` and the link that signs a browser in. */
export function addPageRoutes(app: ControlApp, { auth, info }: ControlPlaneDeps): void {
  app.get("/", (c) => c.redirect("/ui/", 302));
  app.get("/ui", (c) => c.redirect("/ui/", 302));
  app.get("/ui/sign-in", (c) => {
    const code = c.req.query("code");
    const isPeek = c.req.method === "HEAD" || /prefetch|prerender/.test(c.req.header("sec-purpose") ?? "");
    // A look ahead by a browser or a chat program must not spend the code.
    if (code === undefined || isPeek) return standInPage(c, 200, info.version);
    try {
      giveCookie(c, auth.redeem(code, peerOf(c)));
      // On to an address without the code, so that it stays in no history.
      return c.redirect("/ui/", 303);
    } catch (error) {
      if (isKeywheelError(error) && error.code === "unauthorized") {
        return standInPage(c, 401, info.version, error.message);
      }
      throw error;
    }
  });
  app.get("/ui/*", (c) => standInPage(c, 200, info.version));
}
