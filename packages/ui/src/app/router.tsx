import type { QueryClient } from "@tanstack/react-query";
import { createBrowserRouter, redirect, type LoaderFunctionArgs, type RouteObject } from "react-router";
import { statusQuery } from "../api/queries.ts";
import { isSignedOut } from "../api/problem.ts";
import { NotFoundPage } from "./not-found-page.tsx";
import { PageError } from "./page-error.tsx";
import { Shell, ShellToCome } from "./shell/shell.tsx";
import { basename, signInPath } from "./sign-in-path.ts";

export type Router = ReturnType<typeof createBrowserRouter>;

/** Pages behind the sign-in. Each is loaded when it is opened first. */
const pages: RouteObject[] = [
  {
    index: true,
    lazy: async () => ({ Component: (await import("../pages/overview/overview-page.tsx")).OverviewPage }),
  },
  {
    path: "activity",
    lazy: async () => ({ Component: (await import("../pages/activity/activity-page.tsx")).ActivityPage }),
  },
  {
    path: "sessions",
    lazy: async () => ({ Component: (await import("../pages/sessions/sessions-page.tsx")).SessionsPage }),
  },
  {
    path: "usage",
    lazy: async () => ({ Component: (await import("../pages/usage/usage-page.tsx")).UsagePage }),
  },
  { path: "settings", loader: () => redirect("/settings/providers") },
  {
    path: "settings/providers",
    lazy: async () => ({ Component: (await import("../pages/providers/providers-page.tsx")).ProvidersPage }),
  },
  {
    path: "settings/providers/:slug",
    lazy: async () => ({ Component: (await import("../pages/provider/provider-page.tsx")).ProviderPage }),
  },
  {
    path: "chat/:id?",
    lazy: async () => ({ Component: (await import("../pages/chat/chat-page.tsx")).ChatPage }),
  },
  {
    path: "settings/tokens",
    lazy: async () => ({ Component: (await import("../pages/tokens/tokens-page.tsx")).TokensPage }),
  },
  {
    path: "settings/webhooks",
    lazy: async () => ({ Component: (await import("../pages/webhooks/webhooks-page.tsx")).WebhooksPage }),
  },
  { path: "*", Component: NotFoundPage },
];

export function createRouter(client: QueryClient): Router {
  return createBrowserRouter(
    [
      {
        path: "/sign-in",
        lazy: async () => ({ Component: (await import("../pages/sign-in/sign-in-page.tsx")).SignInPage }),
        ErrorBoundary: PageError,
        HydrateFallback: () => null,
      },
      {
        path: "/",
        Component: Shell,
        ErrorBoundary: PageError,
        HydrateFallback: ShellToCome,
        loader: (args) => requireSignIn(client, args),
        // A change of the page needs no new question; any call that finds the browser signed out leads to the sign-in.
        shouldRevalidate: () => false,
        children: [{ ErrorBoundary: PageError, children: pages }],
      },
    ],
    { basename },
  );
}

/** Asks before anything is shown, so that nobody who is signed out sees an empty page flash by. */
async function requireSignIn(client: QueryClient, { request }: LoaderFunctionArgs): Promise<Response | null> {
  try {
    await client.query({ ...statusQuery, staleTime: "static" });
  } catch (error) {
    // Other troubles are told by the page, which asks again.
    if (isSignedOut(error)) return redirect(signInPath(request.url));
  }
  return null;
}

/** Leads to the sign-in, and back afterwards. */
export function toSignIn(router: Router): void {
  if (router.state.location.pathname.endsWith("/sign-in")) return;
  void router.navigate(signInPath(window.location.href), { replace: true });
}
