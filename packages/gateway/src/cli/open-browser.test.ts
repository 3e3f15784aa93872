import { expect, it } from "vitest";
import { withoutSecrets } from "./open-browser.ts";

it("hands a browser what it needs to start, and no key of the operator's", () => {
  const needed = {
    PATH: "/usr/bin",
    HOME: "/home/ann",
    DISPLAY: ":0",
    WAYLAND_DISPLAY: "wayland-0",
    XAUTHORITY: "/run/user/1000/xauth",
    XDG_RUNTIME_DIR: "/run/user/1000",
    DBUS_SESSION_BUS_ADDRESS: "unix:path=/run/user/1000/bus",
    BROWSER: "firefox",
    LANG: "ko_KR.UTF-8",
  };
  const secret = {
    KEYWHEEL_MASTER_KEY: "1",
    KEYWHEEL_ADMIN_TOKEN: "2",
    OPENAI_KEY_1: "3",
    ANTHROPIC_AUTH_TOKEN: "4",
    aws_secret_access: "5",
    PGPASSWORD: "6",
    GOOGLE_APPLICATION_CREDENTIALS: "7",
  };

  expect(withoutSecrets({ ...secret, ...needed })).toEqual(needed);
});
