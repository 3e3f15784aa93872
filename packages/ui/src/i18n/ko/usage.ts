import type { SectionOf } from "../catalogue.ts";

export const usage: SectionOf<"usage"> = {
  heading: "사용량",
};
