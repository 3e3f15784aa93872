// Before anything is painted: the colour scheme that was chosen, so that a dark page does not flash white. A file of its
// own, because the content security policy allows no inline script.
(() => {
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("keywheel-color-scheme") ?? "auto";
  } catch {
    // Storage is closed to us: what the system prefers is a good guess.
  }
  const isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
})();
