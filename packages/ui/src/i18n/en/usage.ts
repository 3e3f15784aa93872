export const usage = {
  heading: "Usage",
} as const;
