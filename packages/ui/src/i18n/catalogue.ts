import type { en } from "./en/en.ts";

type TranslationOf<Messages> = {
  // Korean has one plural form, `_other`.
  readonly [Key in keyof Messages as Key extends `${string}_one` ? never : Key]: Messages[Key] extends string
    ? string
    : TranslationOf<Messages[Key]>;
};

/** What every other language must say: a missing or an unknown message does not compile. */
export type Catalogue = TranslationOf<typeof en>;
export type SectionOf<Name extends keyof Catalogue> = Catalogue[Name];

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "translation";
    resources: { translation: typeof en };
    strictKeyChecks: true;
  }
}
