export const errors = {
  conflict: "It conflicts with what is stored.",
  failed: "That did not work",
  internal: "The gateway met an error of its own; its log says more.",
  invalid: "Some of what was entered cannot be taken.",
  loadFailed: "This could not be loaded",
  notFound: "It does not exist, or no longer does.",
  notFoundPage: "There is no such page",
  offline: "The gateway does not answer. Check that it is running, then try again.",
  pageBroke: "This page met an error",
  pageBrokeHint:
    "Nothing that is stored was lost. Load the page again; if it happens again, tell us what the details say.",
  reload: "Load again",
  storeUnavailable: "The database cannot be written just now; nothing was changed. Try again in a moment.",
  toProviders: "To Provider Management",
  tooLarge: "That is too large for one call. Send it in parts.",
  tooManyAttempts: "Too many wrong tokens. Wait {{wait}}, then try again.",
  unreadable: "Something between this page and the gateway answered ({{status}}).",
} as const;
