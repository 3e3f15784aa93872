import type { SectionOf } from "../catalogue.ts";

export const sessions: SectionOf<"sessions"> = {
  heading: "세션",
};
