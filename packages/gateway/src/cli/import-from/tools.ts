/** Tools whose files are understood, by the word for each. Apart from the readers, which no other command has to load. */
export const foreignTools = [
  "gpt-load",
  "new-api",
  "one-api",
  "litellm",
  "cliproxyapi",
  "omnicross",
  "cherry-studio",
] as const;

export type ForeignTool = (typeof foreignTools)[number];
