import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./app/global.css";
import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { styleNonce } from "./app/style-nonce.ts";
import { startI18n } from "./i18n/i18n.ts";

// For what locks the page behind a dialog, which is no part of the component library.
setNonce(styleNonce());
startI18n();

const root = document.getElementById("root");
if (!root) throw new Error("The page has no #root");
createRoot(root).render(<App />);
