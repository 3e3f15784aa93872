import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { RouterProvider } from "react-router/dom";
import { createQueryClient } from "../api/query-client.ts";
import { signInGate } from "../api/sign-in-gate.ts";
import { LiveContext } from "../events/live-context.ts";
import { LiveEvents } from "../events/live-events.ts";
import { Refresher } from "../events/refresher.ts";
import { createRouter, toSignIn } from "./router.tsx";
import { styleNonce } from "./style-nonce.ts";
import { theme } from "./theme.ts";

const colorSchemeManager = localStorageColorSchemeManager({ key: "keywheel-color-scheme" });

export function App(): ReactNode {
  const [{ client, live, router }] = useState(createParts);
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemeManager}
      getStyleNonce={styleNonce}
    >
      <QueryClientProvider client={client}>
        <LiveContext value={live}>
          <Notifications position="bottom-right" />
          <RouterProvider router={router} />
        </LiveContext>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function createParts() {
  keepEscapeFromDialogsBelow();
  const client = createQueryClient(() => {
    live.events.stop();
    toSignIn(router);
  });
  const refresher = new Refresher(client);
  const events = new LiveEvents(() => refresher.everything());
  events.subscribe(refresher.note);
  const live = { events, refresher };
  const router = createRouter(client);
  return { client, live, router };
}

/** Dialogs listen on the window for Escape; while a sign-in is asked for on top of them, it is not meant for them. */
function keepEscapeFromDialogsBelow(): void {
  const keep = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && signInGate.isAsking) event.stopImmediatePropagation();
  };
  // Made before any dialog is, so that it is asked before them.
  window.addEventListener("keydown", keep, { capture: true });
}
