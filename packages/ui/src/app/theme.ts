import { Alert, createTheme, Modal, Notification, NumberInput, Tooltip } from "@mantine/core";

/** What all pages share, so that a component is given only what is particular to it. */
export const theme = createTheme({
  primaryColor: "cyan",
  // Light enough on dark and dark enough on light for text of 4.5:1.
  primaryShade: 9,
  autoContrast: true,
  defaultRadius: "md",
  cursorType: "pointer",
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR", "Noto Sans CJK KR", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
  headings: {
    fontWeight: "650",
    sizes: { h1: { fontSize: "1.5rem" }, h2: { fontSize: "1.125rem" }, h3: { fontSize: "1rem" } },
  },
  respectReducedMotion: true,
  components: {
    Alert: Alert.extend({
      // The library's tints are too strong on dark, and its coloured titles too pale on light.
      vars: (_, { color = "cyan" }) => ({
        root: {
          "--alert-bg": `color-mix(in srgb, var(--mantine-color-${color}-6) 14%, var(--mantine-color-body))`,
          "--alert-bd": `1px solid color-mix(in srgb, var(--mantine-color-${color}-6) 45%, var(--mantine-color-body))`,
          "--alert-color": `light-dark(var(--mantine-color-${color}-9), var(--mantine-color-${color}-4))`,
        },
      }),
      styles: { title: { color: "var(--mantine-color-text)" } },
    }),
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.4 },
        // A header outside of any section would be a second banner of the page.
        attributes: { header: { role: "presentation" } },
      },
      styles: { title: { fontWeight: 650 } },
    }),
    // The library's grey is below 4.5:1.
    Notification: Notification.extend({ styles: { description: { color: "var(--mantine-color-dimmed)" } } }),
    NumberInput: NumberInput.extend({ defaultProps: { allowDecimal: false, allowNegative: false } }),
    Tooltip: Tooltip.extend({
      defaultProps: { withArrow: true, multiline: true, maw: 320, events: { hover: true, focus: true, touch: true } },
    }),
  },
});
