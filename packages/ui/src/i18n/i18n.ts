import i18next, { type FormatterModule, type i18n } from "i18next";
import { initReactI18next } from "react-i18next";
import { formatOf } from "../format/format.ts";
import { isolated } from "../format/isolated.ts";
import { en } from "./en/en.ts";
import { ko } from "./ko/ko.ts";

export const languages = ["en", "ko"] as const;
export type Language = (typeof languages)[number];

const storageKey = "keywheel-language";

/**
 * Numbers in texts are written as the language writes them: "1,000". Names that were given turn nothing round beside them.
 * Our texts name no other formats.
 */
const valuesInTexts: FormatterModule = {
  type: "formatter",
  init: () => {},
  add: () => {},
  addCached: () => {},
  format: (value: unknown, _, language = "en") =>
    typeof value === "number" ? formatOf(language).number(value) : isolated(String(value)),
};

/** Starts the texts in the language that was chosen, else the first of the browser's that there is. */
export function startI18n(): i18n {
  void i18next
    .use(initReactI18next)
    .use(valuesInTexts)
    .init({
      lng: chosenLanguage() ?? preferredLanguage(navigator.languages),
      fallbackLng: "en",
      resources: { en: { translation: en }, ko: { translation: ko } },
      interpolation: {
        // React escapes.
        escapeValue: false,
        alwaysFormat: true,
      },
      initAsync: false,
    });
  i18next.on("languageChanged", tellDocument);
  tellDocument(i18next.language);
  return i18next;
}

/** Keeps the choice for the next time. */
export function chooseLanguage(language: Language): void {
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Storage is closed to us: the choice holds until the page is left.
  }
  void i18next.changeLanguage(language);
}

export function preferredLanguage(preferences: readonly string[]): Language {
  for (const preference of preferences) {
    const found = languages.find((language) => preference.toLowerCase().split("-")[0] === language);
    if (found) return found;
  }
  return "en";
}

function chosenLanguage(): Language | undefined {
  try {
    const stored = localStorage.getItem(storageKey);
    return languages.find((language) => language === stored);
  } catch {
    return undefined;
  }
}

function tellDocument(language: string): void {
  document.documentElement.lang = language;
}
