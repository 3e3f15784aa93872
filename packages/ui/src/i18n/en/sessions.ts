export const sessions = {
  heading: "Sessions",
} as const;
